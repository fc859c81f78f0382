package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestMountServesInTheBackground(t *testing.T) {
	_, at := mounted(t)
	assert.Equal(t, "hello", shell(t, at, "echo hello > a; cat a; rm a"))
}

func TestUmountFreesTheBacking(t *testing.T) {
	from, at := mounted(t)
	for range 3 {
		succeeds(t, "umount", at)
		assert.False(t, isMounted(t, at))
		succeeds(t, "mount", from, at)
	}
}

func TestMountOverItsOwnBacking(t *testing.T) {
	from, _ := folders(t)
	mountOn(t, from, from)
	shell(t, from, "echo hello > a")
	assert.Contains(t, succeeds(t, "status", "--all", from), "published")
	assert.Contains(t, succeeds(t, "check", from), "nothing wrong")
	succeeds(t, "umount", from)
	assert.Equal(t, "hello", shell(t, from, "cat a"))
}

func TestMountTakesRelativePaths(t *testing.T) {
	from, at := folders(t)
	cmd := command(t, "mount", "backing", "mount")
	cmd.Dir = filepath.Dir(from)
	_, stderr, code := finish(t, cmd)
	require.Zero(t, code, stderr)
	assert.True(t, isMounted(t, at))
	succeeds(t, "umount", at)
}

func TestMountSaysWhatRulesDoToExistingFiles(t *testing.T) {
	from, at := folders(t)
	assert.NotContains(t, succeeds(t, "mount", "-v", "--rule", "done/**=archive", from, at), "done/**=archive")
	succeeds(t, "umount", at)
	require.NoError(t, os.WriteFile(filepath.Join(from, "a"), nil, 0o644))
	assert.Contains(t, succeeds(t, "mount", "-v", "--rule", "done/**=archive", from, at), "done/**=archive")
	succeeds(t, "umount", at)
	assert.Empty(t, succeeds(t, "mount", "--rule", "done/**=archive", from, at), "a program needs only warnings")
	succeeds(t, "umount", at)
	assert.Contains(t, succeeds(t, "mount", "--rule", "s/**=queue,gate=set", from, at), "no effect yet")
	succeeds(t, "umount", at)
}

func TestMountSaysWhatItHides(t *testing.T) {
	from, at := folders(t)
	require.NoError(t, os.WriteFile(filepath.Join(at, "below"), nil, 0o644))
	assert.Contains(t, succeeds(t, "mount", from, at), at+" is not empty")
	succeeds(t, "umount", at)
}

func TestMountSaysWhatItFound(t *testing.T) {
	from, at := mounted(t)
	succeeds(t, "umount", at)
	place := filepath.Join(from, ".airlockfs/quarantine/0~0~0.0.0.0.0.0")
	require.NoError(t, os.Mkdir(place, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(place, "a"), nil, 0o644))
	assert.Contains(t, succeeds(t, "mount", from, at), "found: 1 file in quarantine; airlockfs status "+at+" lists them")
}

// A folder that a failed mount leaves would lock out who may mount it.
func TestFailedMountLeavesNothing(t *testing.T) {
	from, at := folders(t)
	fails(t, exitMount, "does not exist", "mount", from, at+"/missing")
	assertEmpty(t, from)
	if _, _, code := program(t, "mount", "--require", strings.Join(features, ","), from, at); code == exitFine {
		succeeds(t, "umount", at)
	} else {
		assertEmpty(t, from)
	}
}

// foldersOfNobody are folders that another user can mount.
func foldersOfNobody(t *testing.T) (from, at string) {
	from, at = folders(t)
	for dir := from; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, os.Chown(from, 65534, 65534))
	return from, at
}

// A user whom the device is closed to is told so before anything is made.
func TestMountNeedsTheDevice(t *testing.T) {
	from, at := foldersOfNobody(t)
	script := `mknod "$1/fuse" c 10 229 && chmod 600 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse &&
		exec setpriv --reuid 65534 --clear-groups /proc/self/fd/3 mount "$2" "$3"`
	cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", script, "sh", filepath.Dir(from), from, at)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	self, err := os.Open(testBinary(t)) // its folder may be closed to others
	require.NoError(t, err)
	defer self.Close()
	cmd.ExtraFiles = []*os.File{self}
	_, stderr, code := finish(t, cmd)
	assert.Equal(t, exitMount, code, stderr)
	assert.Contains(t, stderr, "this user can't use /dev/fuse: permission denied")
	assertEmpty(t, from)
}

func TestMountAsUserIsTold(t *testing.T) {
	from, at := foldersOfNobody(t)
	cmd := command(t, "mount", from, at)
	cmd.Env = append(cmd.Env, "PATH=/nonexistent")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	_, stderr, code := finish(t, cmd)
	assert.Equal(t, exitMount, code)
	assert.Contains(t, stderr, "mounting needs root")
	assertEmpty(t, from)
}

func TestMountOnAMount(t *testing.T) {
	from, at := mounted(t)
	_, other := folders(t)
	fails(t, exitBacking, "is on the airlockfs mount "+at, "mount", at, other)
	fails(t, exitMount, "is mounted already", "mount", at, at)
	fails(t, exitBusy, "serves it on "+at, "mount", from, at)
}

func TestDeadMountOverItsOwnBackingIsReplaced(t *testing.T) {
	from, other := folders(t)
	mountOn(t, from, from)
	pid, err := strconv.Atoi(daemonOf(t, from))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, func() bool { _, err := os.Stat(from); return err != nil })
	fails(t, exitBacking, "daemon died", "mount", from, other)
	eventually(t, func() bool { _, _, code := program(t, "mount", from, from); return code == 0 })
	assert.Equal(t, "again", shell(t, from, "echo again > a; cat a"))
}

func TestMountRefuses(t *testing.T) {
	from, at := folders(t)
	missing := filepath.Join(filepath.Dir(from), "missing")
	fails(t, exitBacking, "does not exist", "mount", missing, at)
	fails(t, exitMount, "does not exist", "mount", from, missing)
	fails(t, exitBacking, "not a folder", "mount", "/dev/null", at)
	fails(t, exitUsage, "argument 1 is empty", "mount", "", at)
	fails(t, exitUsage, "argument 2 is empty", "mount", from, "")
	fails(t, exitBacking, "/.airlockfs, for what is not public, can't be made", "mount", "/proc", at)
	require.NoError(t, os.Mkdir(from+"/in", 0o755))
	fails(t, exitMount, "lies in the backing", "mount", from, from+"/in")
	fails(t, exitUsage, "write PATTERN=", "mount", "--rule", "a", from, at)
	fails(t, exitUsage, "observer", "mount", "--observer", "a", from, at)
	fails(t, exitUsage, "feature", "mount", "--require", "magic", from, at)
	fails(t, exitUsage, "not on", "mount", "--no-temp", "*.nosuch", from, at)
	fails(t, exitUsage, "negative", "mount", "--linger", "-1s", from, at)
	fails(t, exitUsage, "mount option", "mount", "-o", "nosuch", from, at)
	fails(t, exitUsage, "the log file "+missing+"/log can't be opened", "mount", "--log", missing+"/log", from, at)
	assert.False(t, isMounted(t, at))
}

func TestMountRefusesAnUnknownFormat(t *testing.T) {
	from, at := folders(t)
	require.NoError(t, os.Mkdir(filepath.Join(from, ".airlockfs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(from, ".airlockfs/format"), []byte("airlockfs 99\n"), 0o600))
	fails(t, exitBacking, "use a version that knows it", "mount", from, at)
}

func TestMountReadOnly(t *testing.T) {
	_, at := mounted(t, "-o", "ro,noatime")
	assert.ErrorIs(t, os.WriteFile(filepath.Join(at, "a"), nil, 0o644), syscall.EROFS)
}

func TestForegroundEndsWithASignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		from, at := folders(t)
		cmd := command(t, "mount", "-f", "--log-format", "json", from, at)
		var log strings.Builder
		cmd.Stderr = &log
		background(t, cmd)
		eventually(t, func() bool { return isMounted(t, at) })
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait())
		assert.False(t, isMounted(t, at))
		assert.Contains(t, log.String(), `"msg":"serving"`)
	}
}

// What timeout(1) and a terminal send twice is one wish.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	goesLazily(t, syscall.SIGINT, syscall.SIGTERM)
}

func TestHangupOpensTheLogAnew(t *testing.T) {
	from, at := folders(t)
	log := filepath.Join(filepath.Dir(from), "log")
	mountOn(t, from, at, "--log", log)
	require.NoError(t, os.Rename(log, log+".1"))
	pid, err := strconv.Atoi(daemonOf(t, at))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	eventually(t, func() bool { _, err := os.Stat(log); return err == nil })
	assert.True(t, isMounted(t, at))
	eventually(t, func() bool {
		stderr, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/2")
		return stderr == log
	})
	succeeds(t, "umount", at)
}

// Without a log file a hangup means nothing: a logrotate(8) that is set up for another mount ends none.
func TestHangupWithoutALogEndsNothing(t *testing.T) {
	from, at := folders(t)
	cmd := command(t, "mount", "-f", from, at)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	background(t, cmd)
	log := bufio.NewScanner(stderr)
	reads := func(text string) {
		for !strings.Contains(log.Text(), text) {
			require.True(t, log.Scan(), "the log ends without %q", text)
		}
	}
	reads("msg=serving")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	reads("nothing to open anew: no --log")
	assert.True(t, isMounted(t, at))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())

	mountOn(t, from, at)
	pid, err := strconv.Atoi(daemonOf(t, at))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	succeeds(t, "status", at)
	succeeds(t, "umount", at)
}

func TestForegroundGoesLazilyWhileBusy(t *testing.T) {
	goesLazily(t, syscall.SIGTERM)
}

// goesLazily: at the signals the mount leaves its place, and who has a file open there is served to the end.
func goesLazily(t *testing.T, signals ...syscall.Signal) {
	t.Helper()
	from, at := folders(t)
	cmd := command(t, "mount", "-f", from, at)
	background(t, cmd)
	eventually(t, func() bool { return isMounted(t, at) })
	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	for _, sig := range signals {
		require.NoError(t, cmd.Process.Signal(sig))
	}
	eventually(t, func() bool { return !isMounted(t, at) })
	_, err = f.WriteString("still served")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, cmd.Wait())
}

func TestMountOfADeadDaemonIsReplaced(t *testing.T) {
	from, at := mounted(t)
	m, err := findMount(at)
	require.NoError(t, err)
	facts, err := m.facts()
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(facts.PID, syscall.SIGKILL))
	eventually(t, func() bool { _, err := os.Stat(at); return err != nil })
	fails(t, exitNoMount, "died", "status", at)
	eventually(t, func() bool {
		stdout, _, code := program(t, "mount", from, at)
		return code == 0 && assert.Contains(t, stdout, "a daemon that died was replaced")
	})
	assert.Equal(t, "again", shell(t, at, "echo again > a; cat a"))
}

func TestMountHelper(t *testing.T) {
	from, at := folders(t)
	helper := func(args ...string) (string, int) {
		cmd := command(t)
		cmd.Args = append([]string{"/sbin/mount.airlockfs"}, args...)
		_, stderr, code := finish(t, cmd)
		return stderr, code
	}
	stderr, code := helper(from, at, "-o", "nosuch")
	assert.Equal(t, 1, code, stderr)
	stderr, code = helper(from+"/missing", at)
	assert.Equal(t, 32, code, stderr)
	stderr, code = helper(from, at, "-f", "-o", "rw")
	assert.Zero(t, code, stderr)
	assert.False(t, isMounted(t, at))
	stderr, code = helper(from, at, "-sn", "-o", `rw,nosuch,nofail,x-systemd.automount,rule=in/**=queue\,publish=exit`)
	assert.Zero(t, code, stderr)
	assert.Contains(t, succeeds(t, "rules", at+"/in/a"), "publish=exit")
	succeeds(t, "umount", at)
}

// In a mount the working folder is meant if nothing is named; elsewhere something has to be.
func TestNothingNamedIsHere(t *testing.T) {
	_, at := mounted(t)
	for _, name := range []string{"status", "events", "locks"} {
		cmd := command(t, name, "--json")
		cmd.Dir = at
		here, stderr, code := finish(t, cmd)
		assert.Zero(t, code, stderr)
		assert.Equal(t, succeeds(t, name, "--json", at)[:1], here[:1])
		_, stderr, code = program(t, name)
		assert.Equal(t, exitUsage, code, stderr)
	}
}

func TestHelpOfMountListsAllClasses(t *testing.T) {
	_, err := protocol.ParseClass("")
	_, known, _ := strings.Cut(err.Error(), "use one of ")
	for class := range strings.SplitSeq(known, ", ") {
		assert.Contains(t, mountHelp, "\n  "+class+" ")
	}
}
