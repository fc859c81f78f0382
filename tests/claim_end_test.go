package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() { helpers["kill-and-look"] = killAndLook }

// attempts is how often a public item was taken in vain.
func (m *Mount) attempts(path string) string {
	m.t.Helper()
	return m.Must(`getfattr -n user.airlockfs.attempts --only-values %s`, quote(path))
}

func TestI4_AClaimEndsWithItsProcess(t *testing.T) {
	for name, c := range map[string]struct{ claim, end, attempts string }{
		"exit 0":         {`exec 3< f`, `exit 0`, "0"},
		"exit 3":         {`exec 3< f`, `exit 3`, "1"},
		"closed, exit 0": {`cat f`, `exit 0`, "0"},
		"closed, exit 3": {`cat f`, `exit 3`, "1"},
		"closed, KILL":   {`cat f`, `kill -KILL $$`, "1"},
		"KILL":           {`exec 3< f`, `kill -KILL $$`, "1"},
		"SEGV":           {`exec 3< f`, `ulimit -c 0; kill -SEGV $$`, "1"},
		"ABRT":           {`exec 3< f`, `ulimit -c 0; kill -ABRT $$`, "1"},
		"TERM":           {`exec 3< f`, `kill -TERM $$`, "0"},
		"INT":            {`exec 3< f`, `kill -INT $$`, "0"},
		"PIPE":           {`exec 3< f`, `kill -PIPE $$`, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.Must(`echo text > f`)
			require.NotEqual(t, readByStranger, m.Run("%s", c.claim+"; "+stranger+c.end).Code)
			require.Equal(t, c.attempts, m.attempts("f"))
			require.Equal(t, "text", m.Must(`cat f`))
		})
	}
}

// TestI4_WhoLeavesItsSessionHasNoHeir: a daemon's claim does not go to the script that started it.
func TestI4_WhoLeavesItsSessionHasNoHeir(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	require.Equal(t, "text", m.Must(`perl -MPOSIX -e 'open F, "<f"; <F>; POSIX::setsid(); stat "f"; print qx(setsid -w ls); exit 0'; setsid -w cat f`))
	require.Equal(t, "0", m.attempts("f"))
}

func TestAttemptsAddUp(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	for n := 1; n <= 3; n++ {
		m.Run(`exec 3< f; kill -KILL $$`)
		require.Equal(t, strconv.Itoa(n), m.attempts("f"))
	}
	m.Must(`cat f`)
	require.Equal(t, "3", m.attempts("f"), "a look that ends well takes nothing back")
}

func TestI3_AClaimStaysWhileAChildHasItOpen(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	p := m.Start(`exec 3< f 4<&0; (read _ <&4; cat <&3 > %s) > /dev/null 2>&1 & exit 0`, filepath.Join(scratch(t), "out"))
	require.Zero(t, p.Wait().Code)
	require.NotZero(t, m.Run(`cat f`).Code)
	require.Empty(t, m.List("."))
	p.Say()
	m.Until("the child ends", func() bool { return m.Run(`cat f`).Code == 0 })
}

func TestI4_AnInteractiveCatGivesItsItemBack(t *testing.T) {
	m := mount(t)
	m.Must(`echo contents > f`)
	m.Must("python3 -c %s", quote(pythonStranger+`
import pty
pid, tty = pty.fork()
if pid == 0:
    os.environ["PS1"] = "ready> "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = b""
def until(text):
    global seen
    while text not in seen:
        seen += os.read(tty, 4096)
    seen = seen.split(text, 1)[1]
until(b"ready> ")
os.write(tty, b"tail -f f\n")
until(b"contents")
assert not readable(), "while it is read"
os.write(tty, b"\x03")
until(b"ready> ")
assert readable(), "after the interrupt"
os.write(tty, b"cat f\n")
until(b"contents")
until(b"ready> ")
assert readable(), "after its end"
os.write(tty, b"exit\n")
os.waitpid(pid, 0)
`))
	require.Equal(t, "0", m.attempts("f"))
}

// claimOthers has another 100 items claimed, each by a process in a session of its own, until the test ends.
func (m *Mount) claimOthers() {
	m.t.Helper()
	m.items(100)
	marks := scratch(m.t)
	m.Start(`exec 4<&0; for i in $(seq 100); do setsid sh -c 'exec 3< in/$0; : > %s/$0; read _ <&4' $i & done; wait`, marks)
	m.untilMarked(marks, 100)
	require.Equal(m.t, 100, m.claimed())
}

// killAndLook kills 100 processes that have FILE claimed, and 100 that have OTHER open, which nobody can claim. Of each kind
// it prints how long after its kill the slowest but one could be found again, in microseconds.
func killAndLook(args []string) int {
	var times [2][100]time.Duration
	for n := range 100 {
		for which, path := range args {
			var err error
			if times[which][n], err = killOnce(path); err != nil {
				fmt.Println(err)
				return 1
			}
		}
	}
	for which := range times {
		slices.Sort(times[which][:])
		fmt.Println(times[which][98].Microseconds())
	}
	return 0
}

// killOnce kills a process that reads a file, waits until it is dead, and looks for the file. It measures from the kill on.
func killOnce(path string) (time.Duration, error) {
	reader, err := hold(claiming, path)
	if err != nil {
		return 0, err
	}
	defer reader.Wait()
	pidfd, err := unix.PidfdOpen(reader.Process.Pid, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pidfd)
	killed := time.Now()
	if err = reader.Process.Kill(); err != nil {
		return 0, err
	}
	for err = unix.EINTR; err == unix.EINTR; {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
	}
	if err == nil {
		_, err = os.Stat(path)
	}
	return time.Since(killed), err
}

func TestI7_AKilledClaimantsItemIsBackWithin20Milliseconds(t *testing.T) {
	m := mountAlone(t, "--rule", "other=plain")
	m.claimOthers()
	m.Must(`echo text > f; echo text > other`)
	var back, unclaimed int
	_, err := fmt.Sscan(m.Must("%s", helperCommand("kill-and-look", "f", "other")), &back, &unclaimed)
	require.NoError(t, err)
	t.Logf("back after %d µs; what was never claimed is found after %d µs", back, unclaimed)
	require.Less(t, back, 20_000+2*unclaimed, "that a busy machine takes its time is not the mount's fault")
	require.Equal(t, "100", m.attempts("f"), "each kill ended a claim")
}

func TestAnIdleMountSleepsWhateverIsClaimed(t *testing.T) {
	m := mount(t)
	m.claimOthers()
	<-time.NewTimer(time.Second).C // what was begun comes to rest
	before := m.sleeps()
	<-time.NewTimer(10 * time.Second).C // the measured time
	sleeps := m.sleeps() - before
	t.Logf("%d voluntary context switches", sleeps)
	require.Less(t, sleeps, 20)
	require.Less(t, m.memory("RssAnon"), mostAtRest)
	require.Equal(t, 100, m.claimed())
}

// sleeps counts the voluntary context switches of the daemon's threads so far (proc_pid_status(5)).
func (m *Mount) sleeps() int {
	m.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", m.pid()))
	require.NoError(m.t, err)
	require.NotEmpty(m.t, threads)
	sum := 0
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		require.NoError(m.t, err)
		_, rest, found := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		require.True(m.t, found)
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(m.t, err)
		sum += n
	}
	return sum
}

func TestAWorkFolderFollowsTheMoversEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end      string
		kept     string
		attempts string
	}{
		"done":     {`exit 0`, "work/f", "0"},
		"failed":   {`exit 3`, "in/f", "1"},
		"killed":   {`kill -KILL $$`, "in/f", "1"},
		"finished": {`rm work/f`, "", ""},
		"moved on": {`mkdir out; mv work/f out/f`, "out/f", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t, "--rule", "work/**=work")
			m.Must(`mkdir in work; echo text > in/f`)
			p := m.Start(`mv in/f work/f && read; cat work/f > /dev/null && read; ` + c.end)
			m.Until("it is moved", func() bool { return m.State("work/f") == "claimed" })
			m.requireHidden("in/f", "work/f")
			p.Say()
			m.requireHidden("in/f", "work/f")
			p.Say()
			p.Wait()
			require.Equal(t, c.kept, m.Must(`find * -name f`))
			if c.kept != "" {
				require.Equal(t, c.attempts, m.attempts(c.kept))
				require.Equal(t, "text", m.Must(`cat %s`, c.kept))
			}
		})
	}
}

func TestI7_WhatWasRenamedByAKilledClaimantIsBackUnderItsName(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir in out; echo text > in/f`)
	for n, target := range []string{"in/f.tmp", "out/f.tmp", "in/f.tmp", "out/f.tmp", "in/f.tmp", "out/f.tmp"} {
		marks := scratch(t)
		p := m.Start(`mv in/f %s; : > %s/moved; read`, target, marks)
		m.untilMarked(marks, 1)
		m.requireHidden("in/f", target)
		p.Kill()
		require.Equal(t, "text", m.Must(`cat in/f`), target)
		require.Equal(t, strconv.Itoa(n+1), m.attempts("in/f"))
	}
}

// requireHidden requires that a stranger finds none of the paths, by name or by listing.
func (m *Mount) requireHidden(paths ...string) {
	m.t.Helper()
	for _, p := range paths {
		require.NotZero(m.t, m.Run(`cat %s`, quote(p)).Code, p)
		require.NotContains(m.t, m.List(filepath.Dir(p)), filepath.Base(p))
	}
}

// The process ends right after its close: its end must not overtake that.
func TestI4_WhatAClaimantWroteIsThereAfterItsEnd(t *testing.T) {
	m := mount(t)
	for range 40 {
		require.Equal(t, "new", m.Must(`echo old > f; setsid -w bash -c 'exec 3<> f; echo new >&3'; setsid -w cat f; rm f`))
	}
}

// TestI3_AClaimThatIsWrittenInDoesNotLinger: its own version is open, so it is in use, however long nothing is written.
func TestI3_AClaimThatIsWrittenInDoesNotLinger(t *testing.T) {
	m := mount(t, "--linger", "300ms")
	m.Must("mkdir a b; echo text > a/f; echo text > b/g")
	worker := m.Client()
	worker.OK("open f a/f rw", "write f more", "open g b/g r", "close g")
	m.Until("what was claimed later, and is not used, is back", func() bool { return m.State("b/g") == "" })
	require.Equal(t, "ENOENT", m.Client().Call("open", "f", "a/f", "r"))
	worker.OK("close f")
	m.Until("it lingers from the close on", func() bool { return m.State("a/f") == "" })
	require.Equal(t, "more", m.Must("cat a/f"))
}
