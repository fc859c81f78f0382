package backing

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

type user struct {
	uid, gid uint32
	groups   []uint32
}

var users = []user{
	{1001, 1001, nil}, // owner
	{1002, 2000, nil}, // its group is the folder's
	{1003, 1003, []uint32{3000, 2000}},
	{1004, 1004, nil},            // named in the ACL
	{1005, 1005, []uint32{3001}}, // its group is named in the ACL
	{1006, 1006, nil},            // nobody
}

// really finds out by doing: making a folder needs w and x, looking at a name x.
func really(t *testing.T, u user, folder string, want uint32) bool {
	dir, err := os.Open(folder)
	require.NoError(t, err)
	defer dir.Close()
	cmd := exec.Command("stat", "/proc/self/fd/3/known")
	if want&unix.W_OK != 0 {
		cmd = exec.Command("mkdir", "/proc/self/fd/3/new")
		defer os.Remove(filepath.Join(folder, "new"))
	}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{dir}
	cmd.SysProcAttr = credential(u.uid, u.gid, u.groups...)
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	return err == nil
}

func TestMayIsWhatTheKernelDoes(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		in := filepath.Join(dir, "in")
		write(t, filepath.Join(in, "known"), "")
		require.NoError(t, os.Chown(in, 1001, 2000))
		yes, no := 0, 0
		compare := func(what string) {
			for _, u := range users {
				for _, want := range []uint32{unix.X_OK, unix.W_OK | unix.X_OK} {
					may := may(t, s, "in", u.uid, u.gid, u.groups, want)
					assert.Equal(t, really(t, u, in, want), may, "%s, uid %d, want %d", what, u.uid, want)
					if may {
						yes++
					} else {
						no++
					}
				}
			}
		}
		for _, mode := range []uint32{0o700, 0o770, 0o071, 0o755, 0o1777} {
			require.NoError(t, unix.Chmod(in, mode))
			compare("a mode")
		}
		for _, mask := range []uint16{7, 5, 0} {
			setACL(t, in, "system.posix_acl_access", ace{aclUserObj, 7, noID}, ace{aclUser, 7, 1004},
				ace{aclGroupObj, 1, noID}, ace{aclGroup, 3, 3001}, ace{aclMask, mask, noID}, ace{aclOther, 0, noID})
			compare("an ACL")
		}
		assert.Greater(t, yes, 20)
		assert.Greater(t, no, 20)
		assert.True(t, may(t, s, "in", 0, 0, nil, unix.W_OK|unix.X_OK))
		assert.False(t, may(t, s, "none", 1001, 1001, nil, unix.X_OK))
	})
}

// Whatever threads asked, all of the process stays what it was.
func TestMayFileIsWhatTheModeSays(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		file := filepath.Join(dir, "in", "f")
		write(t, file, "")
		require.NoError(t, os.Chown(file, 1001, 2000))
		for mode, who := range map[os.FileMode][]uint32{0o600: {1001}, 0o660: {1001, 1002, 1003}, 0o444: {}, 0o666: {1001, 1002, 1003, 1004, 1005, 1006}} {
			require.NoError(t, os.Chmod(file, mode))
			var may []uint32
			for _, u := range users {
				if ok, err := s.MayFile(Object{"in", "f"}, u.uid, u.gid, u.groups, unix.W_OK); ok {
					require.NoError(t, err)
					may = append(may, u.uid)
				}
			}
			assert.ElementsMatch(t, who, may, "%o", mode)
			root, err := s.MayFile(Object{"in", "f"}, 0, 0, nil, unix.W_OK)
			require.NoError(t, err)
			assert.True(t, root)
		}
		none, err := s.MayFile(Object{"in", "none"}, 1001, 1001, nil, unix.W_OK)
		require.NoError(t, err)
		assert.False(t, none)
	})
}

func TestMayRestoresEveryThread(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	var all sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for range 50 {
				assert.False(t, may(t, s, "in", 1001, 1001, []uint32{1, 2}, unix.W_OK))
			}
		})
	}
	all.Wait()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	require.NoError(t, err)
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // the thread ended meanwhile
		}
		assert.Equal(t, 2, strings.Count(string(status), "id:\t0\t0\t0\t0\n"), "Uid and Gid of %s", task)
	}
}

// An identity that can't be taken back must not stay on a thread in use.
func TestThreadWithWrongIdentityDies(t *testing.T) {
	needRoot(t)
	impossible := identity{uid: -1, gid: -1}
	var tid int
	err := impossible.actAs(identity{uid: 1001, gid: 1001}, func() error {
		tid = unix.Gettid()
		return nil
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return unix.Tgkill(os.Getpid(), tid, 0) == unix.ESRCH
	}, 5e9, 1e6)
}

// may is Store.May where it can be found out.
func may(t *testing.T, s *Store, folder string, uid, gid uint32, groups []uint32, want uint32) bool {
	ok, err := s.May(folder, uid, gid, groups, want)
	assert.NoError(t, err)
	return ok
}

// TestMayFileIsWhatTheKernelDoes, when it is asked to open a file for writing.
func TestMayFileIsWhatTheKernelDoes(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	file := filepath.Join(s.path, "in", "known")
	write(t, file, "")
	require.NoError(t, os.Chown(file, 1001, 2000))
	yes := 0
	for _, mode := range []uint32{0o600, 0o060, 0o002, 0o444, 0o666} {
		require.NoError(t, unix.Chmod(file, mode))
		for _, u := range users {
			opened, err := os.Open(file)
			require.NoError(t, err)
			cmd := exec.Command("sh", "-c", ": >> /proc/self/fd/3")
			cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = "/", []*os.File{opened}, credential(u.uid, u.gid, u.groups...)
			really := cmd.Run() == nil
			opened.Close()
			may, err := s.MayFile(Object{"in", "known"}, u.uid, u.gid, u.groups, unix.W_OK)
			require.NoError(t, err)
			assert.Equal(t, really, may, "mode %o, uid %d", mode, u.uid)
			if may {
				yes++
			}
		}
	}
	assert.Greater(t, yes, 5)
}
