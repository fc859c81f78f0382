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

// outside makes a folder with a file beside the backing.
func outside(t *testing.T, beside string) string {
	dir := folderIn(t, filepath.Dir(beside))
	write(t, filepath.Join(dir, "f"), "secret")
	return dir
}

// everyCall tries each kind of call on an object whose path leads outside, and
// gives the errors.
func everyCall(s *Store, o Object) map[string]error {
	_, stat := s.Stat(o)
	_, _, open := s.Open(o, unix.O_RDWR|unix.O_TRUNC)
	_, create := s.Create(Object{staging, "k"}, o.Folder, 0o644, 0, 0)
	_, place := s.CreateInPlace(Object{o.Folder, "new"}, unix.O_RDWR, 0o644, 0, 0)
	_, note := s.Note(o)
	_, xattr := s.GetXattr(o, "user.x", nil)
	_, lease := s.WrittenElsewhere(o)
	return map[string]error{
		"stat": stat, "open": open, "create": create, "create in place": place,
		"note": note, "getxattr": xattr, "lease": lease,
		"chmod": s.Chmod(o, 0), "chown": s.Chown(o, 1, 1), "truncate": s.Truncate(o, 0),
		"utimens": s.Utimens(o, &unix.Timespec{}, nil), "set note": s.SetNote(o, nil),
		"unlink": s.Remove(o), "mkdir": s.Mkdir(Object{o.Folder, "d"}, 0o755, 0, 0),
		"symlink": s.Symlink("x", Object{o.Folder, "l"}, 0, 0),
		"rename":  s.Move(o, Object{"", "stolen"}, Replace),
		"link":    s.Link(o, Object{"", "stolen"}),
		"fsync":   s.SyncFolder(o.Folder),
		"list":    s.List(o.Folder, func(Entry) error { return nil }),
	}
}

func TestFolderReplacedBySymlink(t *testing.T) {
	for _, warm := range []bool{false, true} {
		onEach(t, func(t *testing.T, s *Store, dir string) {
			victim := outside(t, dir)
			require.NoError(t, os.Mkdir(filepath.Join(dir, "in", "sub"), 0o755))
			if warm {
				stat(t, s, Object{"in/sub", ""})
				stat(t, s, Object{"in", ""})
			}
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "in")))
			require.NoError(t, os.Symlink(victim, filepath.Join(dir, "in")))
			require.NoError(t, os.Mkdir(filepath.Join(victim, "sub"), 0o755))
			for _, o := range []Object{{"in", "f"}, {"in/sub", "f"}} {
				for call, err := range everyCall(s, o) {
					assert.ErrorIs(t, err, syscall.ELOOP, "%s %v", call, o)
				}
			}
			assert.Equal(t, "secret", read(t, filepath.Join(victim, "f")))
			entries, err := os.ReadDir(victim)
			require.NoError(t, err)
			assert.Len(t, entries, 2)
			may, err := s.May("in", 1001, 1001, nil, unix.X_OK)
			assert.NoError(t, err)
			assert.False(t, may)
		})
	}
}

func TestSymlinkInPlaceOfFile(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		victim := filepath.Join(outside(t, dir), "f")
		before, err := os.Stat(victim)
		require.NoError(t, err)
		o := Object{"in", "f"}
		require.NoError(t, os.Symlink(victim, filepath.Join(dir, "in", "f")))
		_, _, err = s.Open(o, unix.O_RDWR|unix.O_TRUNC)
		assert.ErrorIs(t, err, ErrNotRegular)
		assert.ErrorIs(t, s.Truncate(o, 0), ErrNotRegular)
		assert.Error(t, s.Chmod(o, 0))
		assert.ErrorIs(t, s.SetNote(o, []byte("n")), syscall.EPERM)
		assert.ErrorIs(t, s.SetXattr(o, "user.x", nil, 0), syscall.EPERM)
		require.NoError(t, s.Chown(o, 1001, 1001))
		require.NoError(t, s.Utimens(o, &unix.Timespec{}, &unix.Timespec{}))
		written, err := s.WrittenElsewhere(o)
		require.NoError(t, err)
		assert.False(t, written)
		assert.EqualValues(t, 1001, stat(t, s, o).UID)
		after, err := os.Stat(victim)
		require.NoError(t, err)
		assert.Equal(t, before.Sys(), after.Sys())
	})
}

// A FIFO would block whoever opens it, a device would act.
func TestNothingButFilesIsOpened(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		path := filepath.Join(dir, "in", "x")
		for _, kind := range []uint32{unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR} {
			require.NoError(t, unix.Mknod(path, kind|0o666, int(unix.Mkdev(1, 3))))
			_, _, err := s.Open(Object{"in", "x"}, unix.O_RDONLY)
			assert.ErrorIs(t, err, ErrNotRegular)
			_, _, err = s.Open(Object{"in", "x"}, unix.O_WRONLY)
			assert.ErrorIs(t, err, ErrNotRegular)
			assert.ErrorIs(t, s.Truncate(Object{"in", "x"}, 0), ErrNotRegular)
			written, err := s.WrittenElsewhere(Object{"in", "x"})
			require.NoError(t, err)
			assert.False(t, written)
			note, err := s.Note(Object{"in", "x"})
			require.NoError(t, err)
			assert.Nil(t, note)
			require.NoError(t, os.Remove(path))
		}
		_, _, err := s.Open(Object{Name: "in"}, unix.O_RDONLY)
		assert.ErrorIs(t, err, ErrNotRegular)
	})
}
