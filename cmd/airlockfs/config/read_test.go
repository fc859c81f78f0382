package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("linger: 1h\n"), 0o644))
	link := file + ".link"
	require.NoError(t, os.Symlink(file, link))
	for _, path := range []string{file, link} {
		entries, err := Read(path)
		assert.NoError(t, err)
		require.Len(t, entries, 1)
		assert.Equal(t, Place{path, 1, 1}, entries[0].At)
	}
}

// A FIFO would wait for its writer, and a device might never end: this test would not.
func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	made := func(name string, size int, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("#", size)), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	dangling := filepath.Join(dir, "dangling")
	require.NoError(t, os.Symlink("nowhere", dangling))
	endless := made("endless", 0, 0o600)
	require.NoError(t, os.Truncate(endless, 1<<40)) // to read it all would take all memory
	for path, want := range map[string]string{
		filepath.Join(dir, "none"):      "does not exist",
		dangling:                        "does not exist",
		made("file", 0, 0o600) + "/x":   "not a directory",
		endless:                         "larger than 64 KiB",
		dir:                             "is a folder",
		fifo:                            "not an ordinary file",
		"/dev/zero":                     "not an ordinary file",
		made("large", maxSize+1, 0o600): "larger than 64 KiB",
		made("everybody's", 0, 0o666):   "everybody can change",
	} {
		_, err := Read(path)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
	}
	_, err := Read(made("just", maxSize, 0o600))
	assert.NoError(t, err)
}
