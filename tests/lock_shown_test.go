package tests

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// locksOn are the locks that the kernel has on an inode of the backing, without who has them: type, mode, range.
func (m *Mount) locksOn(file string) string {
	m.t.Helper()
	info, err := os.Stat(m.Below(file))
	require.NoError(m.t, err)
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	table, err := os.ReadFile("/proc/locks")
	require.NoError(m.t, err)
	var all []string
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line) // 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END
		if len(f) == 8 && strings.HasSuffix(f[5], inode) {
			all = append(all, fmt.Sprintf("%s %s %s-%s", f[1], f[3], f[6], f[7]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Granted locks are on the backing's inode, too: the kernel lists them, and programs there are kept off.
func TestI8_LocksAreSeenInTheBacking(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared", "--rule", "lk/**=lock", "--rule", "plain/**=plain")
	m.Must("mkdir state lk plain; tee state/f lk/f plain/f <<< x")
	for _, file := range []string{"state/f", "lk/f", "plain/f"} {
		for _, flags := range []string{"r", "rw"} {
			c, outside := m.Client(), m.Client()
			c.OK("open f "+file+" "+flags, "flock f ex")
			require.Equal(t, "FLOCK WRITE 0-EOF", m.locksOn(file), "%s %s", file, flags)
			outside.OK("open f " + m.Below(file) + " rw")
			require.Equal(t, "EAGAIN", outside.Call("flock", "f", "shnb"))
			c.OK("flock f sh")
			require.Equal(t, "FLOCK READ 0-EOF", m.locksOn(file))
			c.OK("flock f un")
			require.Empty(t, m.locksOn(file))
			mode := map[string]string{"r": "READ", "rw": "WRITE"}
			c.OK("lock f posix "+map[string]string{"r": "r", "rw": "w"}[flags]+" 10 20", "lock f posix u 15 5")
			if file == "state/f" { // what was opened to be written, and was not yet, is the version that is read
				mode["rw"] = "READ"
			}
			require.Equal(t, fmt.Sprintf("OFDLCK %[1]s 10-14, OFDLCK %[1]s 20-29", mode[flags]), m.locksOn(file), "%s %s", file, flags)
			require.Equal(t, "EAGAIN", outside.Call("lock", "f", "posix", "w", 12, 1))
			outside.OK("lock f posix w 15 5", "lock f posix u 0 0")
			c.Kill()
			require.Empty(t, m.locksOn(file))
			outside.Kill()
		}
	}
}

// What an outsider has locked keeps nobody on the mount waiting.
func TestI8_AnOutsidersLockDoesNotBlockTheMount(t *testing.T) {
	m := lockMount(t)
	m.Must(": > lk/f")
	outside, c := m.Client(), m.Client()
	outside.OK("open f "+m.Below("lk/f")+" rw", "flock f ex", "lock f posix w 0 0")
	c.OK("open f lk/f rw", "flock f ex", "lock f posix w 0 0")
	require.Len(t, m.Locks(), 2)
}

// Locks are listed with their true owners, and whom one waits for, whom that one waits for, and so on.
func TestI8_WhoWaitsForWhomIsShown(t *testing.T) {
	m := stateMount(t)
	m.Must("echo x > state/f; echo x > state/g")
	shell := m.Start("exec 9>state/f.lock; flock 9; read; flock state/g.lock true")
	m.untilLocks(1, 0)
	second := m.Client()
	second.OK("open l state/g.lock rwc", "flock l ex")
	second.Begin("open", "f", "state/f", "r")
	m.untilLocks(2, 1)
	third := m.Client()
	third.Begin("open", "g", "state/g", "wct")
	m.untilLocks(2, 2)
	chain := func(l report.Lock) (all []string) {
		for _, b := range l.BlockedBy {
			all = append(all, fmt.Sprintf("%d %s %s", b.PID, b.Program, b.Path))
		}
		return all
	}
	for _, l := range m.Locks() {
		switch {
		case l.Path == "state/f.lock":
			require.Equal(t, shell.PID(), l.PID, "not flock(1), which has ended")
			require.True(t, l.Binds)
			require.Empty(t, l.BlockedBy)
		case l.Kind == "OPEN" && l.Path == "state/g":
			require.Equal(t, []string{fmt.Sprintf("%d tests.test state/g.lock", second.PID()), fmt.Sprintf("%d bash state/f.lock", shell.PID())}, chain(l))
		}
	}
	locks := m.Must("%s locks .", binary)
	require.Regexp(t, fmt.Sprintf(`(?m)^tests.test +%d +OPEN +2 +WRITE\* +0 +0 +EOF +state/g +\d+s +%d ← %d *$`, third.PID(), second.PID(), shell.PID()), locks)
	why := m.Must("%s why state/g", binary)
	require.Contains(t, why, fmt.Sprintf("%d tests.test holds a WRITE FLOCK lock on bytes 0 to EOF of state/g.lock", second.PID()))
	require.Contains(t, why, "who opens state/g waits")
	require.Contains(t, why, fmt.Sprintf("%d tests.test waits to open it for writing", third.PID()))
	require.Contains(t, why, fmt.Sprintf(": %d tests.test has locked state/g.lock, and waits for %d bash", second.PID(), shell.PID()))
	shell.Say() // a circle: the shell waits for who waits for it
	m.untilLocks(2, 3)
	require.Regexp(t, fmt.Sprintf(`(?m)FLOCK +0 +WRITE\* .* state/g.lock +\d+s +%d ← %d *$`, second.PID(), shell.PID()), m.Must("%s locks .", binary))
	second.Kill()
	require.Empty(t, third.End())
	require.Zero(t, shell.Wait().Code)
}

// To other users nothing is said of who they are.
func TestI8_AnotherUsersLockIsShownWithoutHisName(t *testing.T) {
	m := stateMount(t, "--wait", "1h")
	const alice, bob = 1201, 1202
	require.Zero(t, m.RunAs(alice, "umask 0; echo x > state/f").Code)
	holder := m.StartAs(alice, "exec 9>state/f.lock; flock 9; read")
	m.untilLocks(1, 0)
	waiter := m.StartAs(bob, "exec cat state/f")
	m.untilLocks(1, 1)
	cmd := exec.Command(binary, "locks", "--json", m.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bob, Gid: bob}}
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), fmt.Sprint(holder.PID()))
	require.Contains(t, string(out), fmt.Sprintf(`"pid": %d`, waiter.PID()), "its own")
	require.Contains(t, string(out), "another user")
	holder.Kill()
	require.Equal(t, result{Out: "x\n"}, waiter.Wait())
}
