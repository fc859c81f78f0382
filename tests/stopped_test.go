package tests

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stopped is a program that starts 200 clients, each in a session of its own, and stops them: 50 have a file half written, 50
// have claimed one, 50 have locked one, 50 wait for a lock. They end with it. For each line it reads it does something.
const stopped = `
import ctypes, fcntl, os, signal, sys, time
def client(kind, n):
    r, w = os.pipe()
    pid = os.fork()
    if pid: os.close(w); os.read(r, 1); os.close(r); return pid
    os.setsid(); ctypes.CDLL(None).prctl(1, 9)
    if kind == "writer": f = open(f"in/w{n}", "w"); f.write("half"); f.flush()
    if kind == "claimant": f = open(f"in/{n}")
    if kind == "holder": f = open(f"in/h{n}.lock", "w"); fcntl.flock(f, 2)
    if kind == "waiter": f = open("in/the.lock", "w"); os.write(w, b"x"); fcntl.flock(f, 2)
    os.write(w, b"x"); signal.pause()
the = open("in/the.lock", "w"); fcntl.flock(the, 2)
all = {kind: [client(kind, n) for n in range(1, 51)] for kind in ("writer", "claimant", "holder", "waiter")}
pids = sum(all.values(), [])
open(sys.argv[1] + "/ready", "w"); sys.stdin.readline()
for p in pids: os.kill(p, signal.SIGSTOP)
for p in pids: os.waitpid(p, os.WUNTRACED)
open(sys.argv[1] + "/stopped", "w"); sys.stdin.readline()
began = time.monotonic()
for p in all["waiter"]: os.kill(p, signal.SIGKILL)
for p in all["waiter"]: os.waitpid(p, 0)
print(int(1000 * (time.monotonic() - began)), flush=True)
open(sys.argv[1] + "/killed", "w"); sys.stdin.readline()
for p in pids: p in all["waiter"] or os.kill(p, signal.SIGKILL)
`

// waiting is how many wait for a lock.
func (m *Mount) waiting() int {
	m.t.Helper()
	return strings.Count(m.Must(`cat .airlockfs/locks`), `"blocked":true`)
}

// handOver hands 40 items over, and takes the time.
func (m *Mount) handOver() time.Duration {
	m.t.Helper()
	began := time.Now()
	m.Must(`for n in $(seq 40); do echo x > in/x$n.tmp; mv in/x$n.tmp in/x$n; cat in/x$n; rm in/x$n; done > %s; ls -lR; flock in/free.lock true`, os.DevNull)
	return time.Since(began)
}

// TestI7_StoppedClientsAreInNobodysWay, whatever they hold.
func TestI7_StoppedClientsAreInNobodysWay(t *testing.T) {
	m := mountAlone(t)
	m.items(50)
	before := m.handOver()
	marks := scratch(t)
	p := m.Start(`exec python3 -c %s %s`, quote(stopped), marks)
	m.untilMarked(marks, 1)
	m.Until("50 wait", func() bool { return m.waiting() == 50 })
	p.Say()
	m.untilMarked(marks, 2)
	during := m.handOver()
	t.Logf("%s before, %s while 200 clients are stopped", before, during)
	require.Less(t, during, 3*before+time.Second)
	require.Equal(t, 50, m.claimed())
	require.Contains(t, m.Run(`echo x > in/w1`).Out, "busy")
	require.NotZero(t, m.Run(`cat in/1`).Code)
	require.NotZero(t, m.Run(`flock -n in/h1.lock true`).Code)

	p.Say()
	m.untilMarked(marks, 3)
	p.Say()
	var took int
	_, err := fmt.Sscan(strings.TrimSpace(p.Wait().Out), &took)
	require.NoError(t, err)
	t.Logf("50 killed waiters were gone after %d ms", took)
	require.Less(t, took, 1000)
	m.Until("all is back, free, or quarantined", func() bool { return len(m.held()) == 0 })
	requireEachOnce(t, 50, m.Must(`cat $(find in -name '[0-9]*')`))
	require.Equal(t, "1", m.attempts("in/50"))
	m.Must(`for n in $(seq 50); do flock -n in/h$n.lock true || exit; done; flock -n in/the.lock true`)
	require.Equal(t, "quarantined", m.State("in/w1"))
}

// TestI7_AKilledWaiterIsGoneAtOnce although nobody lets the lock go.
func TestI7_AKilledWaiterIsGoneAtOnce(t *testing.T) {
	m := mount(t)
	holder, waiter := m.Client(), m.Client()
	holder.OK(`open f f.lock wc`, `flock f ex`)
	waiter.OK(`open f f.lock w`)
	waiter.Begin("flock", "f", "ex")
	m.Until("it waits", func() bool { return m.waiting() == 1 })
	began := time.Now()
	require.NoError(t, syscall.Kill(waiter.PID(), syscall.SIGKILL))
	waiter.Kill()
	require.Less(t, time.Since(began), time.Second)
	m.Until("nobody waits", func() bool { return m.waiting() == 0 })
}
