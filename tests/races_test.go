package tests

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Between the look-up of a name and the open of what was found there somebody may move the item away. The opener must
// not get it: it would settle, by name, another that has come in its place.
func TestI4_AnOpenGetsWhatItsNameMeans(t *testing.T) {
	m := mount(t, "--rule", "done/**=archive")
	for _, to := range []string{"in/b", "done/b"} {
		m.Must("mkdir -p in done")
		r := m.Run("python3 -c %s 400 %s", quote(raceOfOpenAndRename), to)
		require.Equal(t, result{Out: "0 wrong\n"}, r, to)
		m.Must("rm -rf in done")
	}
}

// raceOfOpenAndRename plays rounds between a worker, which opens, reads and removes in/a, and a mover, which renames it
// away and delivers another. It counts the rounds in which the worker read the first and removed the second.
const raceOfOpenAndRename = `
import os, sys
def put(path, text):
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL); os.write(f, text); os.close(f)
def worker(k):
    f = os.open("in/a%d" % k, os.O_RDONLY); text = os.read(f, 9); os.close(f); os.unlink("in/a%d" % k); return text
def mover(k):
    os.rename("in/a%d" % k, "%s%d" % (sys.argv[2], k)); put("in/a%d" % k, b"Y"); return b"moved"
def player(play):
    ask, asked = os.pipe(), os.pipe()
    if os.fork(): return ask[1], asked[0]
    os.setsid(); os.close(ask[1])
    while True:
        k = os.read(ask[0], 4)
        if not k: os._exit(0)
        try: answer = play(int.from_bytes(k, "big"))
        except OSError as e: answer = b"errno %d" % e.errno
        os.write(asked[1], answer)
players, wrong = [player(worker), player(mover)], 0
for k in range(int(sys.argv[1])):
    put("in/a%d" % k, b"X")
    for p in players: os.write(p[0], k.to_bytes(4, "big"))
    got, moved = [os.read(p[1], 99) for p in players]
    wrong += got == b"X" and moved == b"moved" and not os.path.exists("in/a%d" % k)
print(wrong, "wrong")
`

// What the backing refuses is done as soon as it no longer does: nobody else would come back to the item.
func TestI4_WhatTheBackingRefusedIsDoneLater(t *testing.T) {
	m := mount(t)
	m.Must("echo claimed > a")
	claimant := m.Start("exec 3<a; read")
	m.Until("a is claimed", func() bool { return m.State("a") == "claimed" })
	writer := m.Start("exec 3>n; echo new >&3; read; exec 3>&-; read")
	m.Until("n is being written", func() bool { return m.State("n") == "staged" })
	ill := m.ail("renameat2", "EIO")
	claimant.Kill()
	writer.Say()
	m.Until("both are refused", func() bool {
		return m.item("a").Reason == refusedByDisk && m.item("n").Reason == refusedByDisk
	})
	ill()
	require.Equal(t, "new", m.Must("cat n"))
	require.Equal(t, "claimed", m.Must("cat a"))
}

const refusedByDisk = "the backing refused to settle it: input/output error"

// ail has a system call of the daemon's fail until the function it returns is called.
func (m *Mount) ail(call, errno string) (recover func()) {
	m.t.Helper()
	trace := scratch(m.t) + "/trace"
	strace := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace="+call, "-e", "inject="+call+":error="+errno, "-p", strconv.Itoa(m.daemon.Process.Pid))
	require.NoError(m.t, strace.Start())
	m.Until("the daemon is traced", m.allTraced)
	return func() {
		require.NoError(m.t, strace.Process.Signal(syscall.SIGINT))
		_ = strace.Wait() // it ends by the signal
	}
}
