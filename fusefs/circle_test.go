package fusefs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// An outsider makes a folder anew and moves the old one into it, below where a program still works.
func TestFoldersThatAnOutsiderMovesMakeNoCircle(t *testing.T) {
	d, dir := testDesk(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	w := newWorker(t, d)
	a, err := d.lookup(w.p, w.tid, rootID, "a")
	require.NoError(t, err)
	b, err := d.lookup(w.p, w.tid, a.node.id, "b")
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "old")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "a", "b", "old")))
	_, err = d.lookup(w.p, w.tid, b.node.id, "old")
	require.ErrorIs(t, err, syscall.ELOOP)
	require.Equal(t, "a/b", b.node.path())

	a, err = d.lookup(w.p, w.tid, rootID, "a")
	require.NoError(t, err)
	b, err = d.lookup(w.p, w.tid, a.node.id, "b")
	require.NoError(t, err)
	old, err := d.lookup(w.p, w.tid, b.node.id, "old")
	require.NoError(t, err, "who comes by the path finds it")
	require.Equal(t, "a/b/old", old.node.path())
}
