package tests

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// lockFiles are the names that flock(1) is used on: in a folder of lock files, with a name of a lock file, and a new name
// in a queue folder, which becomes a lock file by being locked.
var lockFiles = []string{"lk/x", "job.lock", "q/anything"}

// lockMount mounts with folders for all of lockFiles.
func lockMount(t *testing.T) *Mount {
	m := mount(t, "--rule", "lk/**=lock")
	m.Must("mkdir lk q")
	return m
}

// Locks is the control file "locks".
func (m *Mount) Locks() []report.Lock {
	m.t.Helper()
	var l report.Locks
	out, err := exec.Command("timeout", "-s", "KILL", "20", "cat", m.Path(".airlockfs/locks")).Output()
	require.NoError(m.t, err)
	require.NoError(m.t, json.Unmarshal(out, &l))
	return l.Locks
}

// untilLocks waits until so many locks are held and waited for.
func (m *Mount) untilLocks(held, waiting int) {
	m.t.Helper()
	m.Until(fmt.Sprintf("%d held, %d waiting", held, waiting), func() bool {
		h, w := 0, 0
		for _, l := range m.Locks() {
			if l.Blocked {
				w++
			} else {
				h++
			}
		}
		return h == held && w == waiting
	})
}

// holding and trying are the forms in which flock(1) is used, with the file's name and flock's options to fill in.
var (
	holding = map[string]string{
		"descriptor": `exec {fd}>%[1]s; flock %[2]s $fd || exit; read`,
		"subshell":   `( flock %[2]s 9 || exit; read ) 9>%[1]s`,
		"wrapper":    `flock %[2]s %[1]s bash -c read`,
		"reading":    `exec {fd}<>%[1]s; flock %[2]s $fd || exit; read`,
	}
	trying = map[string]string{
		"descriptor": `exec {fd}>%[1]s; flock %[2]s $fd`,
		"subshell":   `( flock %[2]s 9 || exit 1; true ) 9>%[1]s`,
		"wrapper":    `flock %[2]s %[1]s true`,
		"appending":  `( flock %[2]s 9 ) 9>>%[1]s`,
	}
)

func TestI3_FlockOfEveryFormExcludesEveryOther(t *testing.T) {
	for _, file := range lockFiles {
		for form, hold := range holding {
			t.Run(file+" "+form, func(t *testing.T) {
				m := lockMount(t)
				holder := m.Start(hold, file, "-n")
				m.untilLocks(1, 0)
				for other, try := range trying {
					require.Equal(t, result{Code: 1}, m.Run(try, file, "-n"), other)
				}
				require.Equal(t, result{Code: 1}, m.Run(trying["wrapper"], file, "-w 0.02"), "no errno that has no name")
				require.Equal(t, result{Code: 1}, m.Run(trying["wrapper"], file, "-s -n"))
				holder.Say()
				require.Zero(t, holder.Wait().Code)
				require.Empty(t, m.Locks(), "free when wait(2) has returned")
				for other, try := range trying {
					require.Equal(t, result{}, m.Run(try, file, "-n"), other)
				}
			})
		}
	}
}

func TestI3_FlockSharedAndExclusive(t *testing.T) {
	for _, file := range lockFiles {
		t.Run(file, func(t *testing.T) {
			m := lockMount(t)
			holder := m.Start(holding["descriptor"]+"; flock -u $fd; read", file, "-s")
			m.untilLocks(1, 0)
			require.Equal(t, "READ", m.Locks()[0].Mode)
			require.Equal(t, result{}, m.Run(trying["wrapper"], file, "-s -n"))
			require.Equal(t, result{Code: 1}, m.Run(trying["wrapper"], file, "-x -n"))
			holder.Say()
			m.untilLocks(0, 0)
			require.Equal(t, result{}, m.Run(trying["wrapper"], file, "-x -n"), "-u gives it back, though the file stays open")
		})
	}
}

func TestI7_WaiterGetsTheLockWhenItsHolderIsKilled(t *testing.T) {
	for _, file := range lockFiles {
		t.Run(file, func(t *testing.T) {
			m := lockMount(t)
			holder := m.Start(holding["descriptor"], file, "")
			m.untilLocks(1, 0)
			waiter := m.Start(trying["descriptor"], file, "-w 20")
			m.untilLocks(1, 1)
			holder.Kill()
			require.Equal(t, result{}, waiter.Wait())
			require.Empty(t, m.Locks())
		})
	}
}

func TestI7_LockIsFreeAtOnceAfterItsHoldersExit(t *testing.T) {
	ended, killed := 100, 25
	if delayed() {
		ended, killed = 10, 5
	}
	for _, file := range lockFiles {
		t.Run(file, func(t *testing.T) {
			m := lockMount(t)
			require.Equal(t, result{}, m.Run(`for ((i = 0; i < %d; i++)); do flock -n %s true || exit; done`, ended, file))
			require.Equal(t, result{}, m.Run(`exec 2>/dev/null
				for ((i = 0; i < %[2]d; i++)); do bash -c 'exec 9>%[1]s; flock -n 9 && kill -9 $$'; (flock -n 9) 9>%[1]s || exit; done`, file, killed))
		})
	}
}

func TestI8_LockMadeOnANewNameIsUnlistedAndDropped(t *testing.T) {
	m := lockMount(t)
	for form, hold := range holding {
		holder := m.Start(hold, "q/anything", "")
		m.untilLocks(1, 0)
		require.Empty(t, m.List("q"), form)
		require.Zero(t, m.Run("test -e q/anything").Code, "its name works")
		holder.Say()
		require.Zero(t, holder.Wait().Code)
		require.NotZero(t, m.Run("test -e q/anything").Code, form)
		require.NoFileExists(t, m.Below("q/anything"), form)
	}
	require.Empty(t, m.Status())
}

func TestI1_LockedThenWrittenIsADelivery(t *testing.T) {
	m := lockMount(t)
	w := m.Start(`exec 9>q/f; flock 9; echo one >&9; read; echo two >&9`)
	m.halfway(4)
	require.Empty(t, m.List("q"))
	require.NotZero(t, m.Run("cat q/f").Code)
	w.Say()
	require.Zero(t, w.Wait().Code)
	require.Equal(t, "one\ntwo", m.Must("cat q/f"))
	require.Empty(t, m.Locks())
}

func TestI7_FlockIsFirstComeFirstServed(t *testing.T) {
	m := lockMount(t)
	holder := m.Client()
	holder.OK("open f lk/x rwc", "flock f ex")
	var line []*Client
	for n := range 6 {
		c := m.Client()
		c.OK("open f lk/x rwc")
		c.Begin("flock", "f", []string{"ex", "sh"}[n%2])
		m.untilLocks(1, n+1)
		line = append(line, c)
	}
	holder.OK("flock f un")
	for n, c := range line {
		require.Empty(t, c.End())
		for _, later := range line[n+1:] {
			require.True(t, later.Blocked(), "nobody overtakes")
		}
		c.OK("close f")
	}
}

func TestI8_FlockBelongsToTheOpenFile(t *testing.T) {
	m := lockMount(t)
	c, other := m.Client(), m.Client()
	c.OK("open a lk/x rwc", "open b lk/x rwc", "flock a ex")
	require.Equal(t, "EAGAIN", c.Call("flock", "b", "exnb"), "two opens are two owners")
	other.OK("open f lk/x rwc")
	c.OK("dup a d", "close a", "close b")
	require.Equal(t, "EAGAIN", other.Call("flock", "f", "exnb"), "a duplicate keeps it")
	c.OK("flock d sh")
	require.Equal(t, "EAGAIN", other.Call("flock", "f", "exnb"))
	other.OK("flock f shnb", "flock f un")
	c.OK("close d")
	other.OK("flock f exnb")
	c.OK("open e lk/x rwc")
	require.Equal(t, "EAGAIN", c.Call("flock", "e", "shnb"))
	other.Kill()
	c.OK("flock e shnb")
}

func TestI8_ForkedChildKeepsTheLock(t *testing.T) {
	for _, file := range lockFiles {
		t.Run(file, func(t *testing.T) {
			m := lockMount(t)
			gate := scratch(t) + "/gate"
			require.NoError(t, syscall.Mkfifo(gate, 0o600))
			r := m.Run(`exec 9>%s; flock -n 9; (read < %s) >/dev/null 2>&1 & exit`, file, gate)
			require.Zero(t, r.Code)
			m.untilLocks(1, 0)
			require.Equal(t, result{Code: 1}, m.Run(trying["wrapper"], file, "-n"), "its child has the descriptor")
			open, err := os.OpenFile(gate, os.O_WRONLY, 0)
			require.NoError(t, err)
			open.Close()
			m.untilLocks(0, 0)
			require.Equal(t, result{}, m.Run(trying["wrapper"], file, "-n"))
		})
	}
}

func TestI8_InterruptedWaitIsEINTR(t *testing.T) {
	waits := map[string]string{
		"flock": `flock(F, 2)`,
		"fcntl": `fcntl(F, 7, $whole)`,
		"ofd":   `fcntl(F, 38, $whole)`,
	}
	for what, wait := range waits {
		t.Run(what, func(t *testing.T) {
			m := lockMount(t)
			holder := m.Client()
			holder.OK("open f lk/x rwc")
			if what == "flock" {
				holder.OK("flock f ex")
			} else {
				holder.OK("lock f posix w 0 0")
			}
			waiter := m.Start(`exec perl -e '$whole = pack("s s x4 q q i x4", 1, 0, 0, 0, 0); $SIG{INT} = sub {}; open(F, "+<", "lk/x") or die; print %s ? "granted" : $! + 0'`, wait)
			m.untilLocks(1, 1)
			require.NoError(t, syscall.Kill(waiter.PID(), syscall.SIGINT))
			require.Equal(t, result{Out: fmt.Sprint(int(syscall.EINTR))}, waiter.Wait())
			require.Len(t, m.Locks(), 1, "it left the line")
			holder.Kill()
			require.Empty(t, m.Locks())
		})
	}
}

func TestI8_InterruptedWaitersLeaveTheLine(t *testing.T) {
	m := lockMount(t)
	holder := m.Start(holding["descriptor"], "lk/x", "")
	m.untilLocks(1, 0)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		waiter := m.Start(`exec flock lk/x true`)
		m.untilLocks(1, 1)
		require.NoError(t, syscall.Kill(waiter.PID(), sig))
		require.Equal(t, result{Code: 128 + int(sig)}, waiter.Wait())
		m.untilLocks(1, 0)
	}
	holder.Kill()
	require.Empty(t, m.Locks())
}

func TestI8_LocksAreShownWhileHeldAndWaitedFor(t *testing.T) {
	m := lockMount(t)
	holder := m.Start(holding["wrapper"], "lk/x", "")
	m.untilLocks(1, 0)
	waiter := m.Start(`exec flock -s lk/x true`)
	m.untilLocks(1, 1)
	ranged := m.Client()
	ranged.OK("open f lk/y rwc", "lock f posix w 100 50", "lock f posix r 10 5")
	m.untilLocks(3, 1)
	ino := func(path string) uint64 {
		st, err := os.Stat(m.Below(path))
		require.NoError(t, err)
		return st.Sys().(*syscall.Stat_t).Ino
	}
	all := m.Locks()
	for n := range all {
		require.False(t, all[n].Since.IsZero())
		all[n].Since = all[0].Since
		all[n].Program = strings.TrimSpace(all[n].Program)
	}
	since := all[0].Since
	require.Equal(t, []report.Lock{
		{Path: "lk/x", Inode: ino("lk/x"), Kind: "FLOCK", Mode: "WRITE", End: math.MaxInt64, PID: all[0].PID, Program: "flock", Since: since, Binds: true},
		{Path: "lk/x", Inode: ino("lk/x"), Kind: "FLOCK", Mode: "READ", End: math.MaxInt64, PID: waiter.PID(), Program: "flock", Blocked: true, Since: since, Binds: true, BlockedBy: all[1].BlockedBy},
		{Path: "lk/y", Inode: ino("lk/y"), Kind: "POSIX", Mode: "READ", Start: 10, End: 14, PID: ranged.PID(), Program: "tests.test", Since: since, Binds: true},
		{Path: "lk/y", Inode: ino("lk/y"), Kind: "POSIX", Mode: "WRITE", Start: 100, End: 149, PID: ranged.PID(), Program: "tests.test", Since: since, Binds: true},
	}, all)
	require.NotZero(t, all[0].PID)
	require.Equal(t, []report.Blocker{{PID: all[0].PID, Program: "flock", Path: "lk/x", Since: since}}, all[1].BlockedBy)
	require.Equal(t, "{\"locks\":[]}\n", m.RunAs(65534, "cat .airlockfs/locks").Out, "of others a user sees none")
	holder.Kill()
	require.Zero(t, waiter.Wait().Code)
}
