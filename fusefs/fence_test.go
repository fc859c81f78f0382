package fusefs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// An order to release a claim is answered only when the kernel has dropped what it kept of the bytes: until then the
// former owner could read them on (I5).
func TestAnOrderIsAnsweredWhenTheKernelKeepsNothing(t *testing.T) {
	d, dir := testDesk(t)
	d.addControlsLocked(map[string]virtual{"command": {do: d.command}})
	fs := newFS(d)
	tid := uint32(os.Getpid())
	me := d.Callers.Opener(tid, 0, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600))
	f, err := d.lookup(me, tid, rootID, "f")
	require.NoError(t, err)
	h, err := d.open(me, tid, f.node.id, unix.O_RDONLY)
	require.NoError(t, err)
	defer d.release(h)

	dropping, dropped := make(chan uint64), make(chan struct{})
	d.stale = func(id uint64) {
		dropping <- id
		<-dropped
	}
	header := fuse.InHeader{NodeId: d.controls.files["command"].id, Caller: fuse.Caller{Pid: tid}}
	var out fuse.OpenOut
	require.Equal(t, fuse.OK, fs.Open(nil, &fuse.OpenIn{InHeader: header, Flags: unix.O_RDWR}, &out))
	request, err := json.Marshal(report.Order{Do: "release", Path: "f"})
	require.NoError(t, err)
	answered := make(chan fuse.Status)
	go func() {
		_, status := fs.Write(nil, &fuse.WriteIn{InHeader: header, Fh: out.Fh}, request)
		answered <- status
	}()
	select {
	case id := <-dropping:
		require.Equal(t, h.node.id, id)
	case status := <-answered:
		require.FailNow(t, "answered", "%v", status)
	}
	d.mu.Lock()
	require.Len(t, d.ending, 1)
	d.mu.Unlock()
	select {
	case <-answered:
		require.FailNow(t, "answered while the kernel still keeps pages")
	default:
	}
	close(dropped)
	require.Equal(t, fuse.OK, <-answered)
	require.Empty(t, d.ending)
}
