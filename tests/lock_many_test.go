package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestI8_TenThousandLocksOnOneFile of one user, each on a byte of its own.
func TestI8_TenThousandLocksOnOneFile(t *testing.T) {
	m := lockMount(t)
	m.Must("touch lk/x; chmod 666 lk/x")
	holder := m.StartAs(1001, `exec python3 -c '
import fcntl
f = open("lk/x", "r+")
for n in range(10000): fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * n)
print("all", flush=True)
input()'`)
	m.Until("it has all", func() bool { return len(m.Locks()) == 10_000 })
	c := m.Client()
	c.OK("open f lk/x rw", "lock f posix w 19999 0", "lock f posix w 9999 1")
	require.Equal(t, fmt.Sprintf("pid %d locks 0+1", holder.PID()), c.Call("lock", "f", "posix", "?", 0, 0))
	require.Equal(t, fmt.Sprintf("pid %d locks 10000+1", holder.PID()), c.Call("lock", "f", "posix", "?", 9999, 0))
	require.Equal(t, "EAGAIN", c.Call("lock", "f", "posix", "r", 10_000, 1))
	holder.Say()
	require.Equal(t, result{Out: "all\n"}, holder.Wait())
	c.OK("lock f posix w 0 0")
}

// TestI7_AThousandWaitForOneLock, and each of them has it.
func TestI7_AThousandWaitForOneLock(t *testing.T) {
	m := lockMount(t)
	holder := m.Client()
	holder.OK("open f lk/x rwc", "flock f ex")
	crowd := m.Start(`exec python3 -c '
import fcntl, threading
threading.stack_size(1 << 18)
had = []
def stand(f):
    fcntl.flock(f, fcntl.LOCK_EX)
    had.append(len(had))
    fcntl.flock(f, fcntl.LOCK_UN)
files = [open("lk/x") for _ in range(1000)]
all = [threading.Thread(target=stand, args=[f]) for f in files]
for t in all: t.start()
for t in all: t.join()
print(had == list(range(1000)))'`)
	m.untilLocks(1, 1000)
	holder.Kill()
	require.Equal(t, result{Out: "True\n"}, crowd.Wait())
	require.Empty(t, m.Locks())
}
