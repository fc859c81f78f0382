package backing

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// names lists a folder, sorted.
func names(t *testing.T, s *Store, folder string) (all []string) {
	require.NoError(t, s.List(folder, func(e Entry) error {
		all = append(all, e.Name)
		return nil
	}))
	sort.Strings(all)
	return all
}

func TestMoveHow(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		a, b := Object{"in", "a"}, Object{Name: "b"}
		write(t, filepath.Join(dir, "in", "a"), "A")
		write(t, filepath.Join(dir, "b"), "B")
		assert.ErrorIs(t, s.Move(a, b, NoReplace), syscall.EEXIST)
		require.NoError(t, s.Move(a, b, Exchange))
		assert.Equal(t, "B", read(t, filepath.Join(dir, "in", "a")))
		assert.Equal(t, "A", read(t, filepath.Join(dir, "b")))
		require.NoError(t, s.Move(a, b, Replace))
		assert.Equal(t, "B", read(t, filepath.Join(dir, "b")))
		assert.ErrorIs(t, s.Move(b, a, Exchange), syscall.ENOENT)
		require.NoError(t, s.Move(b, a, NoReplace))
		assert.Equal(t, []string{"a"}, names(t, s, "in"))
	})
}

func TestLinkAndRemove(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "a"), "A")
		require.NoError(t, os.Symlink("a", filepath.Join(dir, "in", "l")))
		require.NoError(t, s.Link(Object{"in", "a"}, Object{staging, "b"}))
		require.NoError(t, s.Link(Object{"in", "l"}, Object{staging, "m"}))
		assert.EqualValues(t, 2, stat(t, s, Object{"in", "a"}).Nlink)
		assert.Equal(t, stat(t, s, Object{"in", "l"}).ID, stat(t, s, Object{staging, "m"}).ID)
		assert.ErrorIs(t, s.Link(Object{"in", "a"}, Object{staging, "b"}), syscall.EEXIST)
		require.NoError(t, s.Remove(Object{"in", "a"}))
		assert.ErrorIs(t, s.Remove(Object{"in", "a"}), syscall.ENOENT)
		assert.ErrorIs(t, s.Remove(Object{Name: "in"}), syscall.EISDIR)
		assert.ErrorIs(t, s.Rmdir(Object{staging, "b"}), syscall.ENOTDIR)
		assert.ErrorIs(t, s.Rmdir(Object{Name: "in"}), syscall.ENOTEMPTY)
		require.NoError(t, s.Remove(Object{"in", "l"}))
		require.NotNil(t, s.folders.byPath["in"])
		require.NoError(t, s.Rmdir(Object{Name: "in"}))
		assert.Nil(t, s.folders.byPath["in"])
	})
}

func TestUnusualNames(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		unusual := []string{strings.Repeat("n", 255), "a\nb", "\xff\xfe", " ", "...", "-", "\\", "ü"}
		for _, name := range unusual {
			f, err := s.Create(Object{staging, "k"}, "in", 0o644, 1001, 1001)
			require.NoError(t, err)
			closeAll(t, f)
			require.NoError(t, s.Move(Object{staging, "k"}, Object{"in", name}, NoReplace))
			f, _, err = s.Open(Object{"in", name}, unix.O_RDONLY)
			require.NoError(t, err)
			closeAll(t, f)
			require.NoError(t, s.Mkdir(Object{"", name}, 0o755, 0, 0))
			require.NoError(t, s.Move(Object{"in", name}, Object{name, "f"}, NoReplace))
			require.NoError(t, s.SetNote(Object{name, "f"}, []byte(name)))
			require.FileExists(t, filepath.Join(dir, name, "f"))
			require.NoError(t, s.Move(Object{name, "f"}, Object{"in", name}, NoReplace))
		}
		sort.Strings(unusual)
		assert.Equal(t, unusual, names(t, s, "in"))
		_, err := s.Create(Object{staging, strings.Repeat("n", 256)}, "in", 0o644, 0, 0)
		assert.ErrorIs(t, err, syscall.ENAMETOOLONG)
	})
}

func TestImpossibleNames(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	for _, name := range []string{".", "..", "a/b", "/", "a\x00b"} {
		o := Object{"in", name}
		_, err := s.Stat(o)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
		assert.ErrorIs(t, s.Remove(o), syscall.EINVAL, "%q", name)
		assert.ErrorIs(t, s.Move(o, Object{"in", "x"}, Replace), syscall.EINVAL, "%q", name)
		assert.ErrorIs(t, s.Move(Object{"in", "x"}, o, Replace), syscall.EINVAL, "%q", name)
		_, err = s.CreateInPlace(o, unix.O_RDWR, 0o644, 0, 0)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
	for _, folder := range []string{"/", "in/", "/in", "in//x", "in/..", "..", ".", "in/./x", "in\x00"} {
		_, err := s.Stat(Object{folder, "x"})
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", folder)
	}
	assert.ErrorIs(t, s.Remove(Object{Folder: "in"}), syscall.EINVAL)
}

// A path longer than one system call takes.
func TestDeepFolder(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, _ string) {
		part := strings.Repeat("d", 200)
		var folders []string
		folder := ""
		for len(folder) < 2*unix.PathMax+500 {
			require.NoError(t, s.Mkdir(Object{folder, part}, 0o755, 0, 0))
			folder = strings.TrimPrefix(folder+"/"+part, "/")
			folders = append(folders, folder)
		}
		s.Forget("")
		f, err := s.Create(Object{staging, "k"}, folder, 0o644, 0, 0)
		require.NoError(t, err)
		closeAll(t, f)
		require.NoError(t, s.Move(Object{staging, "k"}, Object{folder, "f"}, NoReplace))
		assert.True(t, stat(t, s, Object{folder, "f"}).IsRegular())
		require.NoError(t, s.Remove(Object{folder, "f"}))
		for i := len(folders) - 1; i >= 0; i-- {
			parent := ""
			if i > 0 {
				parent = folders[i-1]
			}
			require.NoError(t, s.Rmdir(Object{parent, part}))
		}
	})
}

// A folder that is open stays itself when its name goes to another one.
func TestAnOpenFolderStaysItself(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, _ string) {
		f, err := s.OpenFolder("in")
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, s.Move(Object{"", "in"}, Object{"", "moved"}, NoReplace))
		s.Forget("in")
		require.NoError(t, s.Mkdir(Object{"", "in"}, 0o700, 0, 0))
		require.NoError(t, f.Sync())
		moved, err := s.OpenFolder("moved")
		require.NoError(t, err)
		defer moved.Close()
		require.Equal(t, f.ID, moved.ID)
		_, err = s.OpenFolder("none")
		require.ErrorIs(t, err, syscall.ENOENT)
	})
}

func TestSyncFolder(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, _ string) {
		require.NoError(t, s.SyncFolder("in"))
		require.NoError(t, s.SyncFolder(""))
		assert.ErrorIs(t, s.SyncFolder("none"), syscall.ENOENT)
	})
}
