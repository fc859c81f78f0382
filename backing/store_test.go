package backing

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOpenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	_, err := Open(filepath.Join(dir, "none"), Options{})
	assert.ErrorIs(t, err, ErrMissing)
	assert.ErrorContains(t, err, "make it first")
	_, err = Open(filepath.Join(dir, "file"), Options{})
	assert.ErrorIs(t, err, ErrNotFolder)
	_, err = Open(filepath.Join(dir, "file", "below"), Options{})
	assert.ErrorIs(t, err, ErrNotFolder)
	assert.Empty(t, descriptorsBelow(t, dir))
}

func TestOpenRefusesReadOnly(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	mount(t, "tmpfs", dir)
	require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := Open(dir, Options{})
	assert.ErrorIs(t, err, ErrNotWritable)
	assert.ErrorIs(t, err, syscall.EROFS)
}

func TestErrorsWrapErrno(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		_, err := s.Stat(Object{"in", "none"})
		assert.ErrorIs(t, err, syscall.ENOENT)
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		assert.Equal(t, "in/none", path.Path)
		_, _, err = s.Open(Object{"none", "f"}, unix.O_RDONLY)
		assert.ErrorIs(t, err, syscall.ENOENT)
		assert.ErrorIs(t, s.Move(Object{"in", "a"}, Object{"in", "b"}, Replace), syscall.ENOENT)
	})
}

func TestClosedStore(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{})
	require.NoError(t, s.Close())
	_, err := s.Stat(Object{Name: "in"})
	assert.ErrorIs(t, err, syscall.EBADF)
	_, err = s.Stat(Object{})
	assert.ErrorIs(t, err, syscall.EBADF)
	require.NoError(t, s.Close())
}

func TestStatFS(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	st, err := s.StatFS()
	require.NoError(t, err)
	assert.EqualValues(t, unix.TMPFS_MAGIC, st.Type)
}

// The mount covers the backing itself: the store must stay below it.
func TestCoveredBacking(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{})
	write(t, filepath.Join(dir, "in", "f"), "below")
	mount(t, "tmpfs", dir)
	require.NoFileExists(t, filepath.Join(dir, "in", "f"))
	f, st, err := s.Open(Object{"in", "f"}, unix.O_RDONLY)
	require.NoError(t, err)
	closeAll(t, f)
	assert.EqualValues(t, 5, st.Size)
	f, err = s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	require.NoError(t, err)
	closeAll(t, f)
	require.NoError(t, s.SetNote(Object{staging, "k"}, []byte("n")))
	require.NoError(t, s.Move(Object{staging, "k"}, Object{"in", "g"}, NoReplace))
	require.NoFileExists(t, filepath.Join(dir, "in", "g"))
}

func TestMountPointInsideIsRefused(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{})
	mount(t, "tmpfs", filepath.Join(dir, "in"))
	_, err := s.Stat(Object{Name: "in"})
	assert.ErrorIs(t, err, syscall.EXDEV)
	assert.ErrorIs(t, s.List("in", func(Entry) error { return nil }), syscall.EXDEV)
	_, err = s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	assert.ErrorIs(t, err, syscall.EXDEV)
}
