package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A process must not use a mount that it serves, so the tests that mount run the program in processes of its own: this
// test binary again.
const asProgram = "AIRLOCKFS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

const patience = 20 * time.Second

// program runs the program to its end.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	return finish(t, command(t, args...))
}

func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args = append([]string{"airlockfs"}, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "TMPDIR="+t.TempDir())
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// succeeds runs the program, which must find nothing wrong, and gives its output.
func succeeds(t *testing.T, args ...string) string {
	stdout, stderr, code := program(t, args...)
	require.Zero(t, code, "airlockfs %v: %s", args, stderr)
	return stdout
}

// fails runs the program, which must end with the code and one line that holds the text.
func fails(t *testing.T, code int, text string, args ...string) {
	_, stderr, got := program(t, args...)
	assert.Equal(t, code, got, stderr)
	assert.Contains(t, stderr, text)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// shell runs a script and gives what it printed.
func shell(t *testing.T, dir, script string) string {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// folders makes a backing and a mountpoint.
func folders(t *testing.T) (from, at string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, at = filepath.Join(dir, "backing"), filepath.Join(dir, "mount")
	require.NoError(t, os.Mkdir(from, 0o755))
	require.NoError(t, os.Mkdir(at, 0o755))
	return from, at
}

// mounted mounts in the background, and proves at the end that nothing of it is left.
func mounted(t *testing.T, flags ...string) (from, at string) {
	from, at = folders(t)
	mountOn(t, from, at, flags...)
	return from, at
}

func mountOn(t *testing.T, from, at string, flags ...string) {
	succeeds(t, append(append([]string{"mount"}, flags...), from, at)...)
	t.Cleanup(func() {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{"airlockfs", "umount", at}
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if isMounted(t, at) {
			out, err := cmd.CombinedOutput()
			if !assert.NoError(t, err, string(out)) {
				_ = unix.Unmount(at, unix.MNT_DETACH)
			}
		}
		assert.False(t, isMounted(t, at))
	})
}

func isMounted(t *testing.T, at string) bool {
	mounts, err := readMounts()
	require.NoError(t, err)
	return mountOf(mounts, at).point == at
}

// background starts the program and waits, at the end of the test, until it has ended.
func background(t *testing.T, cmd *exec.Cmd) {
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

func eventually(t *testing.T, condition func() bool) {
	require.Eventually(t, condition, patience, 5*time.Millisecond)
}

// daemonOf is the pid of the daemon of a mount.
func daemonOf(t *testing.T, at string) string {
	m, err := findMount(at)
	require.NoError(t, err)
	facts, err := m.facts()
	require.NoError(t, err)
	return strconv.Itoa(facts.PID)
}
