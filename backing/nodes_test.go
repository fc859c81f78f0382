package backing

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMkdirInSetgidFolder(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		in := filepath.Join(dir, "in")
		require.NoError(t, os.Chown(in, 0, 4242))
		require.NoError(t, unix.Chmod(in, 0o2777))
		require.NoError(t, s.Mkdir(Object{"in", "sub"}, 0o750, 1001, 1002))
		st := stat(t, s, Object{"in", "sub"})
		assert.EqualValues(t, unix.S_IFDIR|0o2750, st.Mode)
		assert.EqualValues(t, 1001, st.UID)
		assert.EqualValues(t, 4242, st.GID)
	})
}

func TestMakeEachKind(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, _ string) {
		require.NoError(t, s.Mkdir(Object{"in", "dir"}, 0o1777, 1001, 1002))
		require.NoError(t, s.Symlink("../any where", Object{"in", "link"}, 1001, 1002))
		require.NoError(t, s.Mknod(Object{"in", "fifo"}, unix.S_IFIFO|0o640, 0, 1001, 1002))
		require.NoError(t, s.Mknod(Object{"in", "sock"}, unix.S_IFSOCK|0o640, 0, 1001, 1002))
		require.NoError(t, s.Mknod(Object{"in", "null"}, unix.S_IFCHR|0o640, uint32(unix.Mkdev(1, 3)), 1001, 1002))
		require.NoError(t, s.Mknod(Object{"in", "file"}, 0o4640, 0, 1001, 1002))
		for name, mode := range map[string]uint32{
			"dir": unix.S_IFDIR | 0o1777, "link": unix.S_IFLNK | 0o777, "fifo": unix.S_IFIFO | 0o640,
			"sock": unix.S_IFSOCK | 0o640, "null": unix.S_IFCHR | 0o640, "file": unix.S_IFREG | 0o4640,
		} {
			st := stat(t, s, Object{"in", name})
			assert.EqualValues(t, mode, st.Mode, name)
			assert.EqualValues(t, 1001, st.UID, name)
			assert.EqualValues(t, 1002, st.GID, name)
		}
		assert.EqualValues(t, unix.Mkdev(1, 3), stat(t, s, Object{"in", "null"}).Rdev)
		target, err := s.Readlink(Object{"in", "link"})
		require.NoError(t, err)
		assert.Equal(t, "../any where", target)
		_, err = s.Readlink(Object{"in", "file"})
		assert.ErrorIs(t, err, syscall.EINVAL)
	})
}

func TestMakeWhereTaken(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "old")
		assert.ErrorIs(t, s.Mkdir(Object{"in", "f"}, 0o755, 1, 1), syscall.EEXIST)
		assert.ErrorIs(t, s.Symlink("x", Object{"in", "f"}, 1, 1), syscall.EEXIST)
		assert.ErrorIs(t, s.Mknod(Object{"in", "f"}, unix.S_IFIFO, 0, 1, 1), syscall.EEXIST)
		assert.Zero(t, stat(t, s, Object{"in", "f"}).UID)
	})
}

// adopt must not give away what somebody put in the place of the new object.
func TestAdoptOnlyOwnNewObject(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		swap := func(int) error {
			write(t, filepath.Join(dir, "in", "f"), "")
			return os.Chown(filepath.Join(dir, "in", "f"), 1009, 1009)
		}
		err := s.makeFor(Object{"in", "f"}, unix.S_IFREG, 1001, 1001, swap)
		assert.ErrorIs(t, err, errSwapped)
		assert.EqualValues(t, 1009, stat(t, s, Object{"in", "f"}).UID)
		err = s.makeFor(Object{"in", "f"}, unix.S_IFDIR, 1001, 1001, func(int) error { return nil })
		assert.ErrorIs(t, err, errSwapped)

		private := filepath.Join(dir, "in", "private")
		require.NoError(t, os.Mkdir(private, 0o700))
		for fileClock() <= stat(t, s, Object{"in", "private"}).Born {
			continue // its clock goes in ticks
		}
		err = s.makeFor(Object{"in", "mine"}, unix.S_IFDIR, 1001, 1001, func(int) error {
			return os.Rename(private, filepath.Join(dir, "in", "mine"))
		})
		if stat(t, s, Object{"in", "mine"}).Born != 0 {
			assert.ErrorIs(t, err, errSwapped)
			assert.Zero(t, stat(t, s, Object{"in", "mine"}).UID)
		}
	})
}

func TestMakePrivate(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		require.NoError(t, s.MakePrivate(staging+"/party"))
		require.NoError(t, s.MakePrivate(staging+"/party"))
		assert.EqualValues(t, unix.S_IFDIR|0o700, stat(t, s, Object{staging, "party"}).Mode)
		assert.ErrorIs(t, s.MakePrivate(Control+"/none/deep"), syscall.ENOENT)
		assert.ErrorIs(t, s.MakePrivate("in/sub"), syscall.EINVAL)
		assert.ErrorIs(t, s.MakePrivate(Control), syscall.EINVAL)
		assert.ErrorIs(t, s.MakePrivate(Control+"x/y"), syscall.EINVAL)
		write(t, filepath.Join(dir, staging, "file"), "")
		assert.ErrorIs(t, s.MakePrivate(staging+"/file"), syscall.ENOTDIR)
	})
}
