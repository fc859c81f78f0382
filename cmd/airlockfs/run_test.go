package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunRegistersTheWorker(t *testing.T) {
	_, at := mounted(t)
	stdout, stderr, code := finish(t, within(command(t, "run", "--worker", "thumbs", "--", "sh", "-c",
		`exec 3> a; AIRLOCKFS_TEST_PROGRAM=1 exec "$0" status .`, testBinary(t)), at))
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "worker thumbs")
}

// testBinary is the path of the program for a shell.
func testBinary(t *testing.T) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func within(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	return cmd
}

func TestRunPassesTheStatusOn(t *testing.T) {
	_, at := mounted(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15} {
		_, _, code := program(t, "run", "--mount", at, "--", "sh", "-c", script)
		assert.Equal(t, want, code, script)
	}
	fails(t, exitNoSuchFile, "can't be run", "run", "--mount", at, "--", "/nosuch")
	fails(t, exitNoMount, "not on an airlockfs mount", "run", "--mount", t.TempDir(), "--", "true")
	fails(t, exitUsage, "command is missing", "run", "--mount", at)
}

func TestRunWaitsForWhatIsLeftRunning(t *testing.T) {
	_, at := mounted(t)
	// The grandchild is in another session, and its parent is gone before it writes.
	_, stderr, code := program(t, "run", "--mount", at, "--", "sh", "-c",
		`cd "$0"; mkfifo "$TMPDIR/fifo"; setsid sh -c 'read x < "$TMPDIR/fifo"; echo late > late' & (echo > "$TMPDIR/fifo") & exit 5`, at)
	assert.Equal(t, 5, code, stderr)
	assert.Equal(t, "late", shell(t, at, "cat late"))
}

func TestRunForwardsSignals(t *testing.T) {
	_, at := mounted(t)
	cmd := command(t, "run", "--mount", at, "--", "sh", "-c", `trap 'exit 9' TERM; echo ready; while :; do read x; done`)
	_, stdout := pipes(t, cmd)
	background(t, cmd)
	assert.Equal(t, "ready", readLine(t, stdout))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Error(t, cmd.Wait())
	assert.Equal(t, 9, cmd.ProcessState.ExitCode())
}

// pipes gives a command an input that stays open, and its output.
func pipes(t *testing.T, cmd *exec.Cmd) (in, out *os.File) {
	r, in, err := os.Pipe()
	require.NoError(t, err)
	out, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin, cmd.Stdout = r, w
	t.Cleanup(func() {
		for _, f := range []*os.File{r, in, out, w} {
			_ = f.Close()
		}
	})
	return in, out
}

// readLine reads up to the end of a line, byte by byte.
func readLine(t *testing.T, f *os.File) string {
	var line []byte
	for b := make([]byte, 1); b[0] != '\n'; line = append(line, b[0]) {
		_, err := f.Read(b)
		require.NoError(t, err)
	}
	return strings.TrimSpace(string(line))
}

func TestTryPrintsTheTimeline(t *testing.T) {
	cmd := command(t, "try", "--", "sh", "-c", `test "$PWD" = "$AIRLOCKFS_MOUNT" && echo hello > a.txt; cat a.txt; rm a.txt; exit 3`)
	scratch := variable(cmd, "TMPDIR")
	stdout, stderr, code := finish(t, cmd)
	assert.Equal(t, 3, code, stderr)
	assert.Regexp(t, `(?s)^hello\na\.txt\n.*\+0\.000s +created +by sh .*published.*claimed +by cat .*settled`, stdout)
	assert.Empty(t, stderr)
	assertEmpty(t, scratch)
}

func variable(cmd *exec.Cmd, name string) (value string) {
	for _, v := range cmd.Env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

func assertEmpty(t *testing.T, dir string) {
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestTryTakesRules(t *testing.T) {
	stdout, stderr, code := program(t, "try", "--rule", "p/**=plain", "--rule", "q/**=queue,gate=set", "--", "sh", "-c", "mkdir p; echo x > p/f")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "class plain")
	assert.Equal(t, "warning: rule \"q/**=queue,gate=set\" (--rule): gate=set has no effect yet\n", stderr)
	fails(t, exitUsage, "write PATTERN=", "try", "--rule", "x", "--", "true")
}

func TestTryKeepsTheBacking(t *testing.T) {
	stdout, stderr, code := program(t, "try", "--keep", "--", "sh", "-c", "echo x > f")
	require.Zero(t, code, stderr)
	_, kept, found := strings.Cut(strings.TrimSpace(stdout), "the backing is kept: ")
	require.True(t, found, stdout)
	assert.Equal(t, "x", shell(t, kept, "cat f"))
}

func TestTryCleansUpAfterASignal(t *testing.T) {
	cmd := command(t, "try", "--", "sh", "-c", `echo $$; exec 3> open; while :; do read x; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: the signal is passed on
	scratch := variable(cmd, "TMPDIR")
	_, stdout := pipes(t, cmd)
	background(t, cmd)
	pid, err := strconv.Atoi(readLine(t, stdout))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	assert.Error(t, cmd.Wait())
	assert.Equal(t, 128+int(syscall.SIGINT), cmd.ProcessState.ExitCode())
	assertEmpty(t, scratch)
	assert.NoDirExists(t, filepath.Join("/proc", strconv.Itoa(pid)))
}

func TestTryCleansUpWhenTheCommandCannotRun(t *testing.T) {
	cmd := command(t, "try", "--", "/nosuch")
	scratch := variable(cmd, "TMPDIR")
	_, stderr, code := finish(t, cmd)
	assert.Equal(t, exitNoSuchFile, code, stderr)
	assertEmpty(t, scratch)
}

// What the command leaves running belongs to what is tried.
func TestTryWaitsForWhatIsLeftRunning(t *testing.T) {
	cmd := command(t, "try", "--", "sh", "-c", `mkfifo "$TMPDIR/fifo"; setsid sh -c 'read x < "$TMPDIR/fifo"; echo late > late' & (echo > "$TMPDIR/fifo") & exit 5`)
	stdout, stderr, code := finish(t, cmd)
	assert.Equal(t, 5, code, stderr)
	assert.Regexp(t, `(?s)late\n.*published.*→ public, nobody has taken it`, stdout)
	assert.Empty(t, stderr)
}

// Killed outright, try can remove nothing: its daemon does.
func TestKilledTryLeavesNothing(t *testing.T) {
	cmd := command(t, "try", "--", "sh", "-c", `echo $PPID; echo half > open; echo "$AIRLOCKFS_MOUNT"; read x`)
	scratch := variable(cmd, "TMPDIR")
	in, stdout := pipes(t, cmd)
	background(t, cmd)
	readLine(t, stdout)
	at := readLine(t, stdout)
	require.True(t, isMounted(t, at))
	require.NoError(t, cmd.Process.Kill())
	eventually(t, func() bool { return !isMounted(t, at) })
	require.NoError(t, in.Close()) // now the command ends, too
	eventually(t, func() bool { left, err := os.ReadDir(scratch); return err == nil && len(left) == 0 })
}

func TestWorkerNames(t *testing.T) {
	for _, name := range []string{"", "a/b"} {
		fails(t, exitUsage, "must not be empty and has no slash", "run", "--worker", name, "--", "true")
	}
}
