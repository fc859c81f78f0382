package backing

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const staging = Control + "/staging"

// The main thread can't end: with a goroutine locked to it the runtime parks it
// for ever. Kept for TestMain, it is in no test's way.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	unix.Umask(0)
	os.Exit(m.Run())
}

// onEach runs a contract test on tmpfs and on the filesystem of the ordinary
// temporary folder.
func onEach(t *testing.T, test func(t *testing.T, s *Store, dir string)) {
	for _, where := range []struct{ name, base string }{{"tmpfs", "/dev/shm"}, {"temp", os.TempDir()}} {
		t.Run(where.name, func(t *testing.T) {
			dir := folderIn(t, where.base)
			test(t, acquired(t, dir, Options{}), dir)
		})
	}
}

// folderIn makes an empty folder that any user may enter.
func folderIn(t *testing.T, base string) string {
	dir, err := os.MkdirTemp(base, "backing")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// acquired opens a store with a staging area and an empty folder "in", and
// proves at the end of the test that it leaves no descriptor.
func acquired(t *testing.T, dir string, o Options) *Store {
	needRoot(t)
	o.Areas = []string{"staging"}
	s, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.Empty(t, descriptorsBelow(t, dir))
	})
	require.NoError(t, s.Acquire())
	require.NoError(t, os.Mkdir(filepath.Join(dir, "in"), 0o755))
	return s
}

func needRoot(t *testing.T) {
	require.Zero(t, os.Geteuid(), "this test changes owners: run it as root")
}

// descriptorsBelow lists what this process has open in dir.
func descriptorsBelow(t *testing.T, dir string) (open []string) {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, fd := range fds {
		path, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.HasPrefix(path, dir) {
			open = append(open, path)
		}
	}
	return open
}

func write(t *testing.T, path, content string) {
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func read(t *testing.T, path string) string {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func stat(t *testing.T, s *Store, o Object) Stat {
	st, err := s.Stat(o)
	require.NoError(t, err)
	return st
}

// closeAll closes files and fails if one can't be.
func closeAll(t *testing.T, files ...*File) {
	for _, f := range files {
		require.NoError(t, f.Close())
	}
}

// ace is one entry of a POSIX ACL; tags and layout as in
// <linux/posix_acl_xattr.h>.
type ace struct {
	tag, perm uint16
	id        uint32
}

const (
	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
	noID        = 0xffffffff
)

func acl(entries ...ace) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func setACL(t *testing.T, path, name string, entries ...ace) {
	require.NoError(t, unix.Setxattr(path, name, acl(entries...), 0))
}

// mount mounts over dir until the test ends.
func mount(t *testing.T, fstype, dir string) {
	needRoot(t)
	require.NoError(t, unix.Mount(fstype, dir, fstype, 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

func credential(uid, gid uint32, groups ...uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, Groups: groups}}
}

func numbered(prefix string, i int) string { return prefix + strconv.Itoa(i) }
