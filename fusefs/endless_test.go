package fusefs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

// What is tried again because of what the disk or a program does meanwhile ends, however long they go on.

// Who opens, writes and closes again and again must not hold the call that moves its file, and with it everybody's changes of the folders.
func TestAMoveDoesNotWaitForWhoeverWritesForEver(t *testing.T) {
	var writes func()
	d, dir := watchedDesk(t, func(c backing.Call) error {
		if c.Name == "fdatasync" && writes != nil {
			writes()
		}
		return nil
	}, "plain/**=plain")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plain"), 0o700))
	w := newWorker(t, d)
	w.file("plain/f")
	writes = func() {
		h := w.open("plain/f", 0)
		w.write(h, false)
		w.close(h)
	}
	require.Equal(t, syscall.EBUSY, syscall.Errno(status(w.rename("plain/f", "f"))))
	writes = nil
	require.NoError(t, w.rename("plain/f", "f"))
	require.FileExists(t, filepath.Join(dir, "f"))
}

func TestLookingForAFreeKeyEnds(t *testing.T) {
	full := true
	d, dir := watchedDesk(t, func(c backing.Call) error {
		if full && (strings.HasPrefix(c.Object.Folder, foldersArea) || strings.HasPrefix(c.To.Folder, foldersArea)) {
			return syscall.EEXIST
		}
		return nil
	})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	w := newWorker(t, d)
	folder, _ := w.split("sub/f")
	key := func() (string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		n, err := d.folderLocked(folder)
		require.NoError(t, err)
		return d.keyLocked(n)
	}
	_, err := key()
	require.ErrorIs(t, err, syscall.EEXIST)
	full = false
	_, err = key()
	require.NoError(t, err)
}
