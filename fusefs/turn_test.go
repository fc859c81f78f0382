package fusefs

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// A turn lapses half a minute after its job's last call in the folder, but for reading the file again; writing it is a call.
func TestATurnLapsesWithoutCalls(t *testing.T) {
	d, _ := testDesk(t, "**=serial")
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	d.Now, d.Reserve = func() time.Time { return now }, 30*time.Second
	tid := uint32(os.Getpid())
	w := newWorker(t, d)
	f := protocol.NameKey{Folder: rootID, Name: "f"}
	lasts := func(want bool, after time.Duration) {
		t.Helper()
		now = now.Add(after)
		d.lookAtTurn(f)
		require.Equal(t, want, d.turnOfLocked(f) != nil)
	}
	w.file("f")
	w.file("g")
	require.Nil(t, d.turnOfLocked(f), "what is written is written")
	w.close(w.open("f", 0))
	lasts(true, 29*time.Second)
	w.close(w.open("f", 0)) // O_RDWR: to write it, perhaps
	lasts(true, 29*time.Second)
	read, err := d.open(w.p, tid, w.node("f"), unix.O_RDONLY)
	require.NoError(t, err)
	w.close(read)
	lasts(false, 2*time.Second)

	w.close(w.open("f", 0))
	lasts(true, 29*time.Second)
	w.close(w.open("g", 0))
	lasts(true, 29*time.Second)
	lasts(false, 2*time.Second)

	h := w.open("f", unix.O_TRUNC)
	for range 3 {
		lasts(true, 29*time.Second)
		w.write(h, false)
	}
	lasts(false, 31*time.Second)
	w.close(h)
	require.Nil(t, d.turnOfLocked(f))
}

// node is the node that a name means for the worker.
func (w *worker) node(name string) uint64 {
	f, err := w.d.lookup(w.p, w.tid, rootID, name)
	require.NoError(w.t, err)
	return f.node.id
}
