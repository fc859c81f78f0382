package fusefs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// namesOwed keeps account of folders whose names changed and were not made durable since.
type namesOwed struct {
	mu      sync.Mutex
	folders map[string]string // folder → the call
	syncs   int
	fail    string // the folder whose sync fails

	begun, hold chan struct{} // nil: syncs are not held up
}

func (k *namesOwed) before(c backing.Call) error {
	if c.Name == "fsync" && c.Detail == "folder" && k.hold != nil {
		k.begun <- struct{}{}
		<-k.hold
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch c.Name {
	case "fsync":
		if c.Detail != "folder" {
			break
		}
		k.syncs++
		if k.fail != "" && k.fail == c.Object.Folder {
			return syscall.EIO
		}
		delete(k.folders, c.Object.Folder)
	case "rename":
		k.folders[c.To.Folder] = c.String()
		if !private(c.Object.Folder) { // what has arrived has left its place
			k.folders[c.Object.Folder] = c.String()
		}
	case "link":
		k.folders[c.To.Folder] = c.String()
	case "unlink", "mkdir", "rmdir", "mknod", "symlink":
		k.folders[c.Object.Folder] = c.String()
	}
	return nil
}

// start forgets what was owed before.
func (k *namesOwed) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.folders)
}

func fullDesk(t *testing.T, rules ...string) (*namesOwed, *desk, *worker) {
	k := &namesOwed{folders: map[string]string{}}
	d, dir := watchedDesk(t, k.before, rules...)
	for _, name := range []string{"archive", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	d.Sync = SyncFull
	t.Cleanup(d.syncs.running.Wait)
	return k, d, newWorker(t, d)
}

func (w *worker) id(path string) uint64 {
	parent, at := w.split(path)
	f, err := w.d.lookup(w.p, w.tid, parent, at.Name)
	require.NoError(w.t, err)
	return f.node.id
}

func (w *worker) claim(path string) {
	h, err := w.d.open(w.p, w.tid, w.id(path), unix.O_RDONLY)
	require.NoError(w.t, err)
	w.close(h)
}

// lastingCalls are durable when they return: what comes first, and the call.
var lastingCalls = map[string][2]func(w *worker) error{
	"rename":            {func(w *worker) error { w.file("f.tmp"); return nil }, func(w *worker) error { return w.rename("f.tmp", "f") }},
	"rename of a claim": {func(w *worker) error { w.file("f"); w.claim("f"); return nil }, func(w *worker) error { return w.rename("f", "archive/f") }},
	"rename elsewhere":  {func(w *worker) error { w.file("f"); return nil }, func(w *worker) error { return w.rename("f", "other/f") }},
	"link": {func(w *worker) error { w.file("f.tmp"); return nil }, func(w *worker) error {
		_, err := w.d.link(w.p, w.id("f.tmp"), rootID, "f")
		return err
	}},
	"second name": {func(w *worker) error { w.file("f"); return nil }, func(w *worker) error {
		_, err := w.d.link(w.p, w.id("f"), rootID, "g")
		return err
	}},
	"unlink of a claim": {func(w *worker) error { w.file("f"); w.claim("f"); return nil }, func(w *worker) error { return w.d.unlink(w.p, rootID, "f") }},
	"unlink of a name of a claim": {func(w *worker) error {
		w.file("f")
		_, err := w.d.link(w.p, w.id("f"), rootID, "g")
		w.claim("f")
		return err
	}, func(w *worker) error { return w.d.unlink(w.p, rootID, "f") }},
	"unlink": {func(w *worker) error { w.file("f"); return nil }, func(w *worker) error { return w.d.unlink(w.p, rootID, "f") }},
	"mkdir": {nil, func(w *worker) error {
		_, err := w.d.make(w.p, rootID, "d", func(at backing.Object) error { return w.d.Store.Mkdir(at, 0o700, 0, 0) })
		return err
	}},
	"rmdir":              {nil, func(w *worker) error { return w.d.rmdir(w.p, rootID, "other") }},
	"rename of a folder": {nil, func(w *worker) error { return w.rename("other", "archive/other") }},
	"truncate": {func(w *worker) error { w.file("other/f"); return nil }, func(w *worker) error {
		if err := w.d.setSize(w.p, w.tid, w.id("other/f"), 0, 2); err != syscall.ESTALE {
			return fmt.Errorf("truncate: %w", err)
		}
		return nil
	}},
	"order": {func(w *worker) error {
		h := w.create("f")
		w.d.taint(h.node, protocol.Taint{Kind: protocol.TaintKilled})
		w.write(h, false)
		w.close(h)
		return nil
	}, func(w *worker) error {
		out := w.d.order(w.p, &report.Order{Do: "requeue", Path: "f"})
		assert.True(w.t, out.Done, out.Refused)
		return nil
	}},
	"fsync of the folder": {func(w *worker) error { w.d.Sync = SyncPublish; w.file("f"); return nil }, func(w *worker) error { return w.d.syncFolder(rootID) }},
}

func TestI4_NamesAreDurableWhenTheCallReturns(t *testing.T) {
	for name, calls := range lastingCalls {
		t.Run(name, func(t *testing.T) {
			k, d, w := fullDesk(t, "archive/**=archive", "other/**=shared")
			if calls[0] != nil {
				require.NoError(t, calls[0](w))
				d.syncs.running.Wait()
			}
			k.start()
			require.NoError(t, calls[1](w))
			assert.Empty(t, k.visible())
			assert.NotZero(t, k.syncs)
		})
	}
}

// visible are the folders of the mount, and the places of claims, that are owed a sync.
func (k *namesOwed) visible() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(k.folders)), func(folder string) bool {
		return private(folder) && !strings.HasPrefix(folder, backing.Control+"/claimed/")
	})
}

// close(2) does not wait for the end of a descriptor, which is what publishes. So whoever looks waits, until the name is
// durable; and those who close at the same time wait for the same sync.
func TestI4_WhoLooksWaitsUntilTheNameIsDurable(t *testing.T) {
	const files = 16
	k, d, w := fullDesk(t)
	d.addControlsLocked(nil)
	fs := newFS(d)
	var open []*handle
	for n := range files {
		open = append(open, w.create(fmt.Sprint("f", n)))
	}
	d.syncs.running.Wait()
	k.begun, k.hold = make(chan struct{}, 4*files), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(k.hold) })
	t.Cleanup(letGo)
	before := k.syncs
	for n, h := range open {
		w.close(h)
		if n == 0 {
			<-k.begun
		}
	}
	waits := make(chan uint64, files)
	d.handOn = func(unique uint64) { waits <- unique }
	looked := make(chan fuse.Status)
	for n := range files {
		go func() {
			var out fuse.EntryOut
			looked <- fs.Lookup(nil, &fuse.InHeader{NodeId: rootID, Caller: fuse.Caller{Pid: w.tid}}, fmt.Sprint("f", n), &out)
		}()
	}
	for range files {
		select {
		case s := <-looked:
			require.FailNow(t, "somebody saw a name that is not durable", "%v", s)
		case <-waits:
		}
	}
	letGo()
	for range files {
		require.Equal(t, fuse.OK, <-looked)
	}
	d.syncs.running.Wait()
	assert.Equal(t, 2, k.syncs-before, "one for the first, one for all others")
	assert.Empty(t, d.table.byID[rootID].folder.unsynced)
	assert.Empty(t, k.visible())
}

// A folder whose sync has failed is not trusted again: what it was to make durable is not made so by a sync that succeeds.
func TestI4_AFolderWhoseSyncFailedIsNotTrustedAgain(t *testing.T) {
	k, d, w := fullDesk(t, "archive/**=archive")
	w.file("archive/here")
	w.file("one.tmp")
	w.file("two.tmp")
	d.syncs.running.Wait()
	k.fail = "archive"
	require.ErrorIs(t, w.rename("one.tmp", "archive/one"), syscall.EIO)
	archive, _ := w.split("archive/one")
	require.NotZero(t, w.id("archive/one"), "it has appeared, and taking it back is a change of names, too")
	k.fail = ""
	require.ErrorIs(t, w.rename("two.tmp", "archive/two"), syscall.EIO)
	require.NotZero(t, w.id("two.tmp"), "nothing moved")
	require.ErrorIs(t, d.syncFolder(archive), syscall.EIO)
	require.NoError(t, w.rename("two.tmp", "two"), "other folders are as they were")

	s := d.statusFor(0).(report.Status)
	require.Len(t, s.Warnings, 1)
	require.Contains(t, s.Warnings[0], "names in archive could not be made durable (input/output error)")
	require.Empty(t, d.statusFor(4711).(report.Status).Warnings)
	var told []string
	for _, e := range d.events.after(0) {
		if e.What == "warning" {
			told = append(told, e.Path)
		}
	}
	require.Equal(t, []string{"archive/one"}, told)
}
