package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// heap is what is in use after everything that can be freed was.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The most that is kept of a file that was looked up, in bytes of heap (docs/bounds.md).
const mostPerItem = 600

// A mount on which a million files are looked at has room for them, and gives it back when the kernel has forgotten them.
func TestFilesThatWereLookedUpTakeLittleRoom(t *testing.T) {
	d, dir := testDesk(t)
	me, tid := d.Callers.Opener(uint32(os.Getpid()), 0, 0), uint32(os.Getpid())
	const many = 8_000
	ids, name := make([]uint64, many), func(n int) string { return fmt.Sprintf("item-%06d", n) }
	for n := range ids {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name(n)), nil, 0o600))
	}
	before := heap()
	for n := range ids {
		f, err := d.lookup(me, tid, rootID, name(n))
		require.NoError(t, err)
		ids[n] = f.node.id
	}
	per := (heap() - before) / many
	t.Logf("%d bytes for each of %d files", per, many)
	require.LessOrEqual(t, per, int64(mostPerItem))
	for _, id := range ids {
		d.forget(id, 1)
	}
	require.Zero(t, len(d.table.seen))
	left := heap() - before
	t.Logf("%d bytes are left when they are forgotten", left)
	require.LessOrEqual(t, left, int64(many*32+2*fewWhole*1200), "that each is complete, and those used last")
	runtime.KeepAlive(d)
}

// What is folded away is the same node when it is asked for again: by the kernel's id, by its name, and after its folder
// has moved.
func TestWhatWasFoldedAwayIsTheSameNodeAgain(t *testing.T) {
	d, dir := testDesk(t)
	me, tid := d.Callers.Opener(uint32(os.Getpid()), 0, 0), uint32(os.Getpid())
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "f"), []byte("text"), 0o600))
	look := func(folder uint64, name string) *node {
		f, err := d.lookup(me, tid, folder, name)
		require.NoError(t, err)
		return f.node
	}
	sub := look(rootID, "sub").id
	f := look(sub, "f").id
	fold := func() {
		for n := range 3 * fewWhole {
			name := fmt.Sprint("other-", n)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			d.forget(look(rootID, name).id, 1)
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
		require.NotNil(t, d.table.seen[f])
		require.Nil(t, d.table.byID[f])
	}
	fold()
	require.Equal(t, f, look(sub, "f").id, "by name")
	fold()
	got, err := d.getattr(me, f, 0)
	require.NoError(t, err, "by id")
	require.EqualValues(t, 4, got.stat.Size)
	fold()
	require.NoError(t, d.rename(me, backing.Object{Name: "sub"}, backing.Object{Name: "moved"}, rootID, rootID, 0))
	h, err := d.open(me, tid, f, unix.O_RDONLY)
	require.NoError(t, err, "in the folder that has moved")
	require.Equal(t, protocol.Claimed, h.node.bytes.item.State)
	d.release(h)
	require.EqualValues(t, 2, d.table.byID[f].lookups)
	d.forget(f, 2)
}

// Outsiders put files into a folder and take them away; what is known of those goes with them.
func TestFilesThatOthersRemovedAreForgotten(t *testing.T) {
	d, dir := testDesk(t)
	me := d.Callers.Opener(uint32(os.Getpid()), 0, 0)
	for n := range 3 * fewWhole {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600))
	}
	root := d.table.byID[rootID]
	require.NoError(t, d.list(me, &listing{folder: root}))
	require.Len(t, root.folder.settled, 3*fewWhole)
	for n := range 3*fewWhole - 7 {
		require.NoError(t, os.Remove(filepath.Join(dir, fmt.Sprint(n))))
	}
	l := &listing{folder: root}
	require.NoError(t, d.list(me, l))
	require.Equal(t, 7, l.names.count)
	require.Len(t, root.folder.settled, 7)
}
