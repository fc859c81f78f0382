package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

func TestStatusNamesTheWriter(t *testing.T) {
	from, at := mounted(t)
	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("four")
	require.NoError(t, err)

	var s report.Status
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "status", "--json", at)), &s))
	assert.Equal(t, []string{at, from}, []string{s.Mount, s.Backing})
	require.Len(t, s.Items, 1)
	assert.Equal(t, "staged", s.Items[0].State)
	assert.Equal(t, os.Getpid(), s.Items[0].Owner.PID)
	assert.EqualValues(t, 4, s.Items[0].Size)

	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "status", "--json", at)), &fields))
	assert.ElementsMatch(t, []string{"mount", "backing", "since", "all", "items"}, keysOf(fields))
	assert.Contains(t, succeeds(t, "status", at), "staged")
}

func keysOf(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

func TestWhyExplainsAHiddenName(t *testing.T) {
	from, at := mounted(t)
	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	defer f.Close()
	text := succeeds(t, "why", filepath.Join(at, "a"))
	assert.Contains(t, text, "barrier   close")
	assert.Contains(t, text, "lifts     the last clean close")
	assert.Contains(t, text, "bytes     "+from)
	assert.Contains(t, succeeds(t, "why", filepath.Join(at, "none")), "nothing that you may know of")
}

func TestStatusAllListsPublicFilesWithoutClaiming(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "mkdir d; echo hello > d/a")
	for range 2 {
		assert.Regexp(t, `published +d/a`, succeeds(t, "status", "--all", at))
	}
	assert.NotContains(t, succeeds(t, "status", at), "d/a")
}

func TestLocksShowTheTrueOwner(t *testing.T) {
	_, at := mounted(t)
	f, err := os.Create(filepath.Join(at, "a.lock"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	var l report.Locks
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "locks", "--json", at)), &l))
	require.Len(t, l.Locks, 1)
	assert.Equal(t, os.Getpid(), l.Locks[0].PID)
	assert.Regexp(t, `WRITE +1 +0 +EOF +a\.lock`, succeeds(t, "locks", at))
}

func TestUmountSaysWhoKeepsItBusy(t *testing.T) {
	_, at := mounted(t)
	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	fails(t, exitBusy, "has "+filepath.Join(at, "a")+" open", "umount", at)
	succeeds(t, "umount", "--lazy", at)
	assert.False(t, isMounted(t, at))
	require.NoError(t, f.Close())
}

func TestUmountIsInTheLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, at := mounted(t, "--log", log)
	succeeds(t, "umount", at)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Contains(t, string(text), "the mount is gone")
}

func TestCommandsWantAMount(t *testing.T) {
	from, at := mounted(t)
	shell(t, at, "mkdir d")
	fails(t, exitNoMount, "not on an airlockfs mount", "status", t.TempDir())
	fails(t, exitNoMount, "it is the backing of "+at, "why", from)
	fails(t, exitNoMount, "lies in the mount", "umount", filepath.Join(at, "d"))
}

func TestCommandsFollowASymlinkToTheMount(t *testing.T) {
	_, at := mounted(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(at, link))
	succeeds(t, "status", link)
	succeeds(t, "why", filepath.Join(link, "a"))
}

func TestCheckFindsProblems(t *testing.T) {
	from, at := mounted(t)
	assert.Contains(t, succeeds(t, "check", at), "nothing wrong")
	require.NoError(t, os.WriteFile(filepath.Join(from, ".airlockfs/stray\n"), nil, 0o600))
	for _, path := range []string{from, at} {
		stdout, _, code := program(t, "check", path)
		assert.Equal(t, exitProblems, code)
		assert.Contains(t, stdout, `PROBLEM control-stray: ".airlockfs/stray\n": `)
	}
	stdout, _, _ := program(t, "check", "--json", from)
	var c report.Check
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	assert.Equal(t, "control-stray", c.Findings[0].Kind)
	fails(t, exitUsage, "does not exist", "check", filepath.Join(from, "missing"))
	fails(t, exitUsage, "nothing was ever mounted", "check", t.TempDir())
}

// A state that is normal while a daemon serves is none when its lock shows that one does.
func TestCheckKnowsThatADaemonServes(t *testing.T) {
	from, _ := mounted(t)
	require.NoError(t, os.Mkdir(filepath.Join(from, ".airlockfs/probe"), 0o700))
	assert.NotContains(t, succeeds(t, "check", from), "probe-left")
}

func TestAttemptsOnAPublicFileAreShown(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "echo hello > a")
	// The worker is killed with the claim; the shell that waits for it is in another session, so it inherits nothing.
	shell(t, at, `setsid -w sh -c 'exec 3< a; kill -9 $$' || true`)
	eventually(t, func() bool { return attemptsOn(filepath.Join(at, "a")) == 1 })
	assert.Contains(t, succeeds(t, "why", filepath.Join(at, "a")), "1 attempt to work on it ended badly")
	assert.Regexp(t, `published +a +- +\d+s +6 +1`, succeeds(t, "status", "--all", at))
}

func TestWhyOfAFolderListsWhatIsHiddenInIt(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "mkdir d d/e")
	f, err := os.Create(filepath.Join(at, "d/e/a"))
	require.NoError(t, err)
	defer f.Close()
	for _, folder := range []string{at, filepath.Join(at, "d")} {
		text := succeeds(t, "why", folder)
		assert.Contains(t, text, "ENOTEMPTY")
		assert.Regexp(t, `staged +d/e/a +\d+ `, text)
	}
	assert.Contains(t, succeeds(t, "why", at), at+": you see a folder")
}

func TestWhySaysHowToDeliverFromQuarantine(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, `sh -c 'exec 3> "a b"; echo whole >&3; kill -9 $$' || true`)
	text := succeeds(t, "why", filepath.Join(at, "a b"))
	_, command, found := strings.Cut(text, "to deliver it all the same:  ")
	require.True(t, found, text)
	command, _, _ = strings.Cut(command, "\n")
	exe, err := os.Executable()
	require.NoError(t, err)
	shell(t, "/", "airlockfs() { "+asProgram+"=1 "+exe+" \"$@\"; }; "+command)
	assert.Equal(t, "whole", shell(t, at, "cat 'a b'"))
	assert.Contains(t, succeeds(t, "check", at), "nothing wrong")
}

func TestWhyKnowsOlderVersions(t *testing.T) {
	from, at := mounted(t)
	shell(t, at, "mkdir d; echo 1 > d/a; echo 2 > d/a; echo 1 > b; echo 2 > b")
	for _, name := range []string{"d/a", "b"} {
		text := succeeds(t, "why", filepath.Join(at, name))
		assert.Contains(t, text, "an older version, written over, is kept until")
		_, path, _ := strings.Cut(text, from)
		assert.Equal(t, "1", shell(t, "/", "cat '"+from+strings.TrimSpace(path)+"'"))
	}
	assert.NotContains(t, succeeds(t, "why", filepath.Join(at, "d/b")), "older")
	shell(t, at, "for n in 3 4 5 6 7 8 9; do echo $n > b; done")
	text := succeeds(t, "why", filepath.Join(at, "b"))
	assert.Equal(t, shownOlder, strings.Count(text, "an older version"), text)
	assert.Contains(t, text, "\nand 3 more, from before: airlockfs why --json lists them\n")
	_, last, _ := strings.Cut(text, from)
	last, _, _ = strings.Cut(last, "\n")
	assert.Equal(t, "8", shell(t, "/", "cat '"+from+last+"'"), "the last one first")
}

func TestWhyTakesSeveralPaths(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "echo 1 > a")
	var all []explanation
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "why", "--json", filepath.Join(at, "a"), filepath.Join(at, "none"))), &all))
	require.Len(t, all, 2)
	assert.Equal(t, []string{"a", "none"}, []string{all[0].Path, all[1].Path})
}

func TestEvents(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "mkdir d; echo 1 > a; echo 2 > d/b")
	text := succeeds(t, "events", at)
	assert.Regexp(t, `(?s)created +a +\d+ sh.*published +a .*published +d/b`, text)
	assert.NotContains(t, succeeds(t, "events", filepath.Join(at, "d")), " a ")
	var events []report.Event
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "events", "--json", filepath.Join(at, "d/b"))), &events))
	assert.Equal(t, "created", events[0].What)
}

func TestEveryCommandSaysThatTheDaemonDied(t *testing.T) {
	_, at := mounted(t)
	pid, err := strconv.Atoi(daemonOf(t, at))
	require.NoError(t, err)
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	eventually(t, func() bool { _, err := os.Stat(at); return err != nil })
	for _, asked := range [][]string{{"run", "--mount", at, "--", "true"}, {"ls", at}, {"ls", at + "/a/b"}, {"status", at}, {"status", at + "/a"}, {"why", at},
		{"events", at + "/a"}, {"events", "--follow", at}, {"locks", at}, {"rules", at + "/a"}, {"check", at}, {"release", at + "/a"}} {
		fails(t, exitNoMount, "the daemon of the mount "+at+" died: mount again", asked...)
	}
	require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
}

// A monitor that asks for a misspelt name must not hear that all is well.
func TestNamesOfNothingAreMistakes(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "mkdir d; echo 1 > d/a; mv d/a d/b; rm d/b")
	for _, asked := range [][]string{{"ls"}, {"status"}, {"status", "--watch"}, {"status", at}, {"events"}, {"events", "--follow"}} {
		for _, name := range []string{"nosuch", "nosuch/a"} {
			fails(t, exitProblems, "you see nothing under the name "+at, append(asked, filepath.Join(at, name))...)
		}
		fails(t, exitProblems, "you see nothing under the name "+at, append(asked, filepath.Join(at, "d/a/x"))...)
	}
	assert.Contains(t, succeeds(t, "events", filepath.Join(at, "d/b")), "removed", "it was something")
	assert.Contains(t, succeeds(t, "status", filepath.Join(at, "d")), "nothing is hidden")
	f, err := os.Create(filepath.Join(at, "d/open"))
	require.NoError(t, err)
	assert.Contains(t, succeeds(t, "status", filepath.Join(at, "d/open")), "staged", "it is there, and not seen")
	require.NoError(t, f.Close())
}

func TestStatusOfAnotherUserSpeaksOfWhatIsHis(t *testing.T) {
	_, at := mounted(t)
	assert.Equal(t, "nothing is hidden, claimed, held back or in quarantine\n", succeeds(t, "status", at))
	cmd := command(t, "status", at)
	asNobody(t, cmd, at)
	stdout, stderr, _ := finish(t, cmd)
	assert.Equal(t, "nothing of yours is hidden, claimed, held back or in quarantine\n", stdout, stderr)
}

// asNobody makes a command run as another user, who can reach the path.
func asNobody(t *testing.T, cmd *exec.Cmd, path string) {
	for dir := path; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func TestWhyGoesOnAfterAMistake(t *testing.T) {
	_, at := mounted(t)
	shell(t, at, "echo 1 > a; echo 2 > b")
	stdout, stderr, code := program(t, "why", at+"/a", "/nosuch", at+"/b")
	assert.Equal(t, exitNoMount, code)
	assert.Contains(t, stderr, "/nosuch is not on an airlockfs mount")
	assert.Regexp(t, `(?s)^a: you see a file.*\n\nb: you see a file`, stdout)
}

func TestLsNumbersWhatHasANumber(t *testing.T) {
	_, at := mounted(t)
	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	assert.Regexp(t, `"item": [1-9]`, succeeds(t, "ls", "--json", "--hidden", at))
	require.NoError(t, f.Close())
	assert.NotContains(t, succeeds(t, "ls", "--json", at), `"item"`)
}

func TestOrdersRefuseWhatIsNoName(t *testing.T) {
	_, at := mounted(t)
	for _, name := range []string{"", ".", "..", "a/b", "\xff"} {
		fails(t, exitUsage, "write a name in the same folder", "requeue", "--as", name, at+"/a")
		fails(t, exitUsage, "write a name in the same folder", "publish", "--as", name, at+"/a")
	}
}

// A claimed file has no name for others, so the kernel may call it deleted. To its owner it has the name still.
func TestUsersOfAMountNameWhatTheKernelCallsDeleted(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(f.Name()))
	assert.Equal(t, "has "+f.Name()+" open", useOf("/proc/self", dir))
	require.NoError(t, f.Close())
}

func TestOnlyRootUnmountsAndChecks(t *testing.T) {
	_, at := mounted(t)
	cmd := command(t, "umount", at)
	asNobody(t, cmd, at)
	_, stderr, code := finish(t, cmd)
	assert.Equal(t, exitProblems, code)
	assert.Contains(t, stderr, "only root can unmount "+at)
	cmd = command(t, "check", at)
	asNobody(t, cmd, at)
	_, stderr, code = finish(t, cmd)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "can be checked by root")
}
