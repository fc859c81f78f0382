package backing

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestOrdinaryUser runs itself again as one: linkat(2) of a nameless file takes
// another way without privilege, and no other user's rights can be asked for.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsOrdinaryUser(t)
		return
	}
	dir := folderIn(t, "/dev/shm")
	s, err := Open(dir, Options{Areas: []string{"staging"}})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Acquire())
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	f, err := s.Create(Object{staging, "k"}, "", 0o640, uid, gid)
	require.NoError(t, err)
	closeAll(t, f)
	require.NoError(t, s.Move(Object{staging, "k"}, Object{Name: "f"}, NoReplace))
	assert.EqualValues(t, unix.S_IFREG|0o640, stat(t, s, Object{Name: "f"}).Mode)
	assert.ErrorIs(t, s.Mkdir(Object{Name: "d"}, 0o755, uid+1, gid), unix.EPERM)
	_, err = s.Create(Object{staging, "k"}, "", 0o640, uid+1, gid)
	assert.ErrorIs(t, err, unix.EPERM)
	assert.NotContains(t, names(t, s, ""), "d")
	assert.Empty(t, names(t, s, staging))
	assert.True(t, may(t, s, "", uid, gid, nil, unix.W_OK|unix.X_OK))
	assert.False(t, may(t, s, "", uid+1, gid, nil, unix.X_OK))
	_, err = Open("/", Options{})
	assert.ErrorIs(t, err, ErrNotWritable)
}

// runAsOrdinaryUser needs a copy of the test binary that others can reach.
func runAsOrdinaryUser(t *testing.T) {
	binary := filepath.Join(folderIn(t, "/dev/shm"), "backing.test")
	copyExecutable(t, binary)
	cmd := exec.Command(binary, "-test.run=^TestOrdinaryUser$", "-test.v")
	cmd.Dir = "/"
	cmd.SysProcAttr = credential(1001, 1001)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestOrdinaryUser")
}

func copyExecutable(t *testing.T, to string) {
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, self)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
