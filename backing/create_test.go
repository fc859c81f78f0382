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

// maker is one of the three ways to make a file in the folder "in", under the
// name "f" in the end.
type maker func(t *testing.T, s *Store, mode, uid, gid uint32) *File

var makers = map[string]maker{
	"staged": func(t *testing.T, s *Store, mode, uid, gid uint32) *File {
		f, err := s.Create(Object{staging, "k"}, "in", mode, uid, gid)
		require.NoError(t, err)
		require.NoError(t, s.Move(Object{staging, "k"}, Object{"in", "f"}, NoReplace))
		return f
	},
	"in place": func(t *testing.T, s *Store, mode, uid, gid uint32) *File {
		f, err := s.CreateInPlace(Object{"in", "f"}, unix.O_RDWR, mode, uid, gid)
		require.NoError(t, err)
		return f
	},
	"nameless": func(t *testing.T, s *Store, mode, uid, gid uint32) *File {
		f, err := s.CreateNameless("in", mode, uid, gid)
		require.NoError(t, err)
		require.NoError(t, s.LinkFile(f, Object{"in", "f"}))
		return f
	},
}

// onEachMaker runs a test for each way and filesystem.
func onEachMaker(t *testing.T, test func(t *testing.T, s *Store, dir string, make maker)) {
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *Store, dir string) { test(t, s, dir, make) })
		})
	}
}

func TestCreateGivesOwnerAndMode(t *testing.T) {
	onEachMaker(t, func(t *testing.T, s *Store, dir string, make maker) {
		f := make(t, s, 0o640, 1001, 1002)
		defer f.Close()
		_, err := f.Write([]byte("bytes"))
		require.NoError(t, err)
		st := stat(t, s, Object{"in", "f"})
		assert.EqualValues(t, unix.S_IFREG|0o640, st.Mode)
		assert.EqualValues(t, 1001, st.UID)
		assert.EqualValues(t, 1002, st.GID)
		assert.EqualValues(t, 1, st.Nlink)
		assert.Equal(t, "bytes", read(t, filepath.Join(dir, "in", "f")))
	})
}

// chown(2) takes setuid and setgid bits away, also from root's files.
func TestCreateKeepsSpecialBits(t *testing.T) {
	onEachMaker(t, func(t *testing.T, s *Store, _ string, make maker) {
		f := make(t, s, 0o6755, 1001, 1002)
		defer f.Close()
		assert.EqualValues(t, unix.S_IFREG|0o6755, stat(t, s, Object{"in", "f"}).Mode)
	})
}

func TestCreateInSetgidFolder(t *testing.T) {
	onEachMaker(t, func(t *testing.T, s *Store, dir string, make maker) {
		in := filepath.Join(dir, "in")
		require.NoError(t, os.Chown(in, 0, 4242))
		require.NoError(t, unix.Chmod(in, 0o2777))
		f := make(t, s, 0o644, 1001, 1002)
		defer f.Close()
		st := stat(t, s, Object{"in", "f"})
		assert.EqualValues(t, 1001, st.UID)
		assert.EqualValues(t, 4242, st.GID)
	})
}

// The control is a file made in the folder without this package.
func TestCreateInheritsDefaultACL(t *testing.T) {
	onEachMaker(t, func(t *testing.T, s *Store, dir string, make maker) {
		in := filepath.Join(dir, "in")
		setACL(t, in, "system.posix_acl_default", ace{aclUserObj, 7, noID}, ace{aclUser, 7, 1004},
			ace{aclGroupObj, 5, noID}, ace{aclGroup, 7, 1005}, ace{aclMask, 7, noID}, ace{aclOther, 0, noID})
		plain, err := os.OpenFile(filepath.Join(in, "control"), os.O_CREATE|os.O_RDWR, 0o664)
		require.NoError(t, err)
		require.NoError(t, plain.Close())
		closeAll(t, make(t, s, 0o664, 1001, 1002))
		assert.Equal(t, stat(t, s, Object{"in", "control"}).Mode, stat(t, s, Object{"in", "f"}).Mode)
		want := accessACL(t, s, Object{"in", "control"})
		require.NotEmpty(t, want)
		assert.Equal(t, want, accessACL(t, s, Object{"in", "f"}))
	})
}

func accessACL(t *testing.T, s *Store, o Object) []byte {
	buf := make([]byte, 256)
	n, err := s.GetXattr(o, "system.posix_acl_access", buf)
	require.NoError(t, err)
	return buf[:n]
}

func TestCreateWhereTaken(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, staging, "k"), "old")
		_, err := s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
		assert.ErrorIs(t, err, syscall.EEXIST)
		_, err = s.CreateInPlace(Object{staging, "k"}, unix.O_RDWR, 0o644, 0, 0)
		assert.ErrorIs(t, err, syscall.EEXIST)
		f, err := s.CreateNameless("in", 0o644, 0, 0)
		require.NoError(t, err)
		defer f.Close()
		assert.ErrorIs(t, s.LinkFile(f, Object{staging, "k"}), syscall.EEXIST)
		assert.Equal(t, "old", read(t, filepath.Join(dir, staging, "k")))
	})
}

// The way for filesystems without O_TMPFILE: at its place, group of the folder.
func TestCreateByName(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		in := filepath.Join(dir, "in")
		require.NoError(t, os.Chown(in, 0, 4242))
		require.NoError(t, unix.Chmod(in, 0o2777))
		fd, err := s.named(Object{staging, "k"}, "in", unix.O_RDWR, 0o4755, 1001, 1002)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		st := stat(t, s, Object{staging, "k"})
		assert.EqualValues(t, unix.S_IFREG|0o4755, st.Mode)
		assert.EqualValues(t, 1001, st.UID)
		assert.EqualValues(t, 4242, st.GID)
	})
	assert.True(t, lacksTmpfile(unix.EOPNOTSUPP))
	assert.True(t, lacksTmpfile(unix.EISDIR))
	assert.False(t, lacksTmpfile(unix.ENOSPC))
}

func TestCreateRefusesOtherFlags(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	_, err := s.CreateInPlace(Object{"in", "f"}, unix.O_RDWR|unix.O_DIRECTORY, 0o644, 0, 0)
	assert.ErrorIs(t, err, syscall.EINVAL)
}

// Whoever lacks CAP_DAC_READ_SEARCH and did not open the file itself can't link
// it by descriptor.
func TestLinkFileWithoutPrivilege(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		require.NoError(t, unix.Chmod(filepath.Join(dir, "in"), 0o777))
		f, err := s.CreateNameless("in", 0o600, 1001, 1001)
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, s.self.actAs(identity{uid: 1001, gid: 1001}, func() error {
			return s.LinkFile(f, Object{"in", "f"})
		}))
		assert.EqualValues(t, 1, stat(t, s, Object{"in", "f"}).Nlink)
	})
}

func TestNamelessFileVanishes(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, _ string) {
		f, err := s.CreateNameless("in", 0o644, 1001, 1001)
		require.NoError(t, err)
		st, err := f.Stat2()
		require.NoError(t, err)
		assert.Zero(t, st.Nlink)
		closeAll(t, f)
		assert.Empty(t, names(t, s, "in"))
	})
}
