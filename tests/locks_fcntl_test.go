package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// fcntlKinds are the two kinds of owner that fcntl_locking(2) knows.
var fcntlKinds = []string{"posix", "ofd"}

func TestI3_SharedAndExclusiveMatrix(t *testing.T) {
	want := map[string]string{"r r": "", "r w": "EAGAIN", "w r": "EAGAIN", "w w": "EAGAIN"}
	m := lockMount(t)
	for _, a := range fcntlKinds {
		for _, b := range fcntlKinds {
			for pair, errno := range want {
				t.Run(a+" "+b+" "+pair, func(t *testing.T) {
					first, second := m.Client(), m.Client()
					first.OK("open f lk/x rwc", "lock f "+a+" "+pair[:1]+" 10 10")
					second.OK("open f lk/x rwc")
					require.Equal(t, errno, second.Call("lock", "f", b, pair[2:], 19, 1))
					second.OK("lock f "+b+" w 0 10", "lock f "+b+" w 20 0")
					first.Kill()
					second.OK("lock f " + b + " w 0 0")
					second.Kill()
				})
			}
		}
	}
	require.Empty(t, m.Locks())
}

func TestI8_FlockMatrix(t *testing.T) {
	want := map[string]string{"sh shnb": "", "sh exnb": "EAGAIN", "ex shnb": "EAGAIN", "ex exnb": "EAGAIN"}
	m := lockMount(t)
	for pair, errno := range want {
		first, second := m.Client(), m.Client()
		first.OK("open f lk/x rwc", "flock f "+pair[:2])
		second.OK("open f lk/x rwc")
		require.Equal(t, errno, second.Call("flock", "f", pair[3:]), pair)
		first.OK("flock f un")
		second.OK("flock f exnb")
		second.Kill()
		first.Kill()
	}
}

func TestI8_PosixLocksEndWithAnyDescriptorOthersDoNot(t *testing.T) {
	for kind, want := range map[string]string{"posix": "", "ofd": "EAGAIN", "flock": "EAGAIN"} {
		t.Run(kind, func(t *testing.T) {
			m := lockMount(t)
			c, other := m.Client(), m.Client()
			c.OK("open a lk/x rwc", "open b lk/x rwc")
			other.OK("open f lk/x rwc")
			take, try := "lock a "+kind+" w 0 0", []any{"lock", "f", kind, "w", 0, 0}
			if kind == "flock" {
				take, try = "flock a ex", []any{"flock", "f", "exnb"}
			}
			c.OK(take)
			require.Equal(t, "EAGAIN", other.Call(try...))
			c.OK("close b")
			require.Equal(t, want, other.Call(try...), "closing another descriptor of the same file")
			if want != "" {
				c.OK("close a")
				require.Empty(t, other.Call(try...))
			}
		})
	}
}

func TestI8_OwnersAreProcessesOrOpenFiles(t *testing.T) {
	m := lockMount(t)
	c := m.Client()
	c.OK("open a lk/x rwc", "open b lk/x rwc")
	c.OK("lock a posix w 0 10", "lock b posix w 0 10")
	c.OK("lock a posix u 0 0", "lock a ofd w 0 10")
	require.Equal(t, "EAGAIN", c.Call("lock", "b", "ofd", "w", 9, 1), "OFD locks belong to the open file")
	c.OK("lock a ofd u 5 5", "lock b ofd w 5 5")
	require.Equal(t, "EAGAIN", c.Call("lock", "b", "ofd", "r", 4, 1))
	require.Len(t, m.Locks(), 2)
}

func TestI8_GetlkNamesTheHolder(t *testing.T) {
	m := lockMount(t)
	holder, asker := m.Client(), m.Client()
	holder.OK("open f lk/x rwc", "lock f posix w 10 5")
	asker.OK("open f lk/x rwc")
	require.Equal(t, fmt.Sprintf("pid %d locks 10+5", holder.PID()), asker.Call("lock", "f", "posix", "?", 0, 0))
	require.Equal(t, "free", asker.Call("lock", "f", "posix", "?", 15, 0))
	require.Equal(t, "free", holder.Call("lock", "f", "posix", "?", 0, 0), "one's own lock is in nobody's way")
	holder.OK("lock f posix u 12 1")
	require.Equal(t, fmt.Sprintf("pid %d locks 10+2", holder.PID()), asker.Call("lock", "f", "posix", "?", 0, 0))
	require.Equal(t, fmt.Sprintf("pid %d locks 13+2", holder.PID()), asker.Call("lock", "f", "posix", "?", 12, 5))
	holder.Kill()
	require.Equal(t, "free", asker.Call("lock", "f", "posix", "?", 0, 0))
}

func TestI8_PosixCycleIsEDEADLK(t *testing.T) {
	for what, file := range map[string]string{"one file": "lk/x", "two files": "lk/y"} {
		t.Run(what, func(t *testing.T) {
			m := lockMount(t)
			a, b := m.Client(), m.Client()
			a.OK("open f lk/x rwc", "open g "+file+" rwc", "lock f posix w 0 10")
			b.OK("open f lk/x rwc", "open g "+file+" rwc", "lock g posix w 10 10")
			a.Begin("lock", "g", "posix", "W", 10, 10)
			m.untilLocks(2, 1)
			require.Equal(t, "EDEADLK", b.Call("lock", "f", "posix", "W", 0, 10))
			require.True(t, a.Blocked())
			m.untilLocks(2, 1)
			b.OK("lock g posix u 10 10")
			require.Empty(t, a.End(), "the other one gets it")
		})
	}
}

func TestI8_CycleOfThreeIsEDEADLKAndALineIsNot(t *testing.T) {
	m := lockMount(t)
	var all []*Client
	for n := range 3 {
		c := m.Client()
		c.OK("open f lk/x rwc", fmt.Sprintf("lock f posix w %d 1", n))
		all = append(all, c)
	}
	all[0].Begin("lock", "f", "posix", "W", 1, 1)
	m.untilLocks(3, 1)
	all[1].Begin("lock", "f", "posix", "W", 2, 1)
	m.untilLocks(3, 2)
	require.Equal(t, "EDEADLK", all[2].Call("lock", "f", "posix", "W", 0, 1))
	all[2].Kill()
	require.Empty(t, all[1].End(), "its holder ended")
	all[1].Kill()
	require.Empty(t, all[0].End())
}

func TestI7_FcntlIsFirstComeFirstServed(t *testing.T) {
	for _, kind := range fcntlKinds {
		t.Run(kind, func(t *testing.T) {
			m := lockMount(t)
			holder := m.Client()
			holder.OK("open f lk/x rwc", "lock f "+kind+" w 0 0")
			var line []*Client
			for n := range 5 {
				c := m.Client()
				c.OK("open f lk/x rwc")
				c.Begin("lock", "f", kind, []string{"W", "R"}[n%2], 5, 1)
				m.untilLocks(1, n+1)
				line = append(line, c)
			}
			holder.OK("lock f " + kind + " u 0 0")
			for n, c := range line {
				require.Empty(t, c.End())
				for _, later := range line[n+1:] {
					require.True(t, later.Blocked())
				}
				c.OK("close f")
			}
		})
	}
}

func TestI8_ForkedChildHasNoPosixLockButSharesOFD(t *testing.T) {
	m := lockMount(t)
	script := `$whole = pack("s s x4 q q i x4", 1, 0, 0, 0, 0); open(F, "+>", "lk/x") or die; fcntl(F, %d, $whole) or die $!;
		if (!fork) { print fcntl(F, %d, $whole) ? "granted" : $! + 0; exit } wait`
	require.Equal(t, "11", m.Must(`perl -e '%s'`, fmt.Sprintf(script, 6, 6)), "F_SETLK: another process is another owner")
	require.Equal(t, "granted", m.Must(`perl -e '%s'`, fmt.Sprintf(script, 37, 37)), "F_OFD_SETLK: the open file is shared")
	require.Empty(t, m.Locks())
}

func TestI3_PythonAndShellExcludeEachOther(t *testing.T) {
	m := lockMount(t)
	tries := map[string][]any{"flock": {"flock", "f", "exnb"}, "lockf": {"lock", "f", "posix", "w", 0, 1}}
	for how, try := range tries {
		p := m.Start(`exec python3 -c 'import fcntl, sys; f = open("lk/x", "w"); fcntl.%s(f, fcntl.LOCK_EX); sys.stdin.readline()'`, how)
		m.untilLocks(1, 0)
		c := m.Client()
		c.OK("open f lk/x rwc")
		require.Equal(t, "EAGAIN", c.Call(try...))
		if how == "flock" {
			require.Equal(t, result{Code: 1}, m.Run("flock -n lk/x true"))
		}
		p.Say()
		require.Zero(t, p.Wait().Code)
		require.Empty(t, c.Call(try...))
		c.Kill()
	}
}

func TestI8_LocksNeedTheRightDescriptor(t *testing.T) {
	m := lockMount(t)
	m.Must("echo x > lk/x")
	c := m.Client()
	c.OK("open r lk/x r", "open w lk/x w")
	require.Equal(t, "EBADF", c.Call("lock", "r", "posix", "w", 0, 0))
	require.Equal(t, "EBADF", c.Call("lock", "w", "posix", "r", 0, 0))
	c.OK("lock r posix r 0 0", "flock r ex")
}

func TestI3_ManyContendersNeverHoldTogether(t *testing.T) {
	m := lockMount(t)
	log := scratch(t) + "/log"
	script := `for ((i = 0; i < 20; i++)); do flock lk/x sh -c 'echo in; echo out' >> %s || exit; done`
	var all []*Process
	for range 6 {
		all = append(all, m.Start(script, quote(log)))
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
	require.Equal(t, "120 in\nout", m.Must(`paste -d '\n' - - < %s | paste - - | sort | uniq -c | sed 's/^ *//; s/\t/\n/'`, quote(log)))
}
