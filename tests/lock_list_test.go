package tests

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// One list for each file: who has a descriptor from before a rename over the name contends with who came after.
func TestI3_VersionsOfAFileShareItsLocks(t *testing.T) {
	m := stateMount(t)
	replace := func(c *Client) { c.OK("open w state/f.tmp wc", "write w new", "close w", "rename state/f.tmp state/f") }
	holder, old, waiter := m.Client(), m.Client(), m.Client()
	holder.OK("open w state/f wc", "write w old", "close w", "open f state/f r", "flock f ex")
	old.OK("open f state/f r")
	waiter.OK("open f state/f rw")
	waiter.Begin("flock", "f", "ex")
	m.untilLocks(1, 1)
	replace(holder)
	replace(holder)
	later := m.Client()
	later.OK("open f state/f r")
	require.Equal(t, "EAGAIN", later.Call("flock", "f", "shnb"))
	require.Equal(t, "EAGAIN", old.Call("flock", "f", "shnb"))
	later.Begin("flock", "f", "ex")
	m.untilLocks(1, 2)
	holder.OK("close f")
	require.Empty(t, waiter.End())
	require.True(t, later.Blocked(), "the one that waited before the rename has it")
	require.Equal(t, "EBUSY", m.Client().Call("unlink", "state/f"))
	waiter.Kill()
	require.Empty(t, later.End())
	require.Equal(t, "old", old.Call("read", "f"), "and has its version")
	later.OK("close f")
	require.Empty(t, m.Locks())
}

// An old version that nobody has locked yet when the name is written over is of the same list all the same.
func TestI3_ADescriptorFromBeforeAReplacementLocksTheFile(t *testing.T) {
	m := stateMount(t)
	old, later := m.Client(), m.Client()
	m.Must("echo old > state/f")
	old.OK("open f state/f r")
	for range 3 {
		m.Must("echo new > state/f.tmp; mv state/f.tmp state/f")
	}
	_ = os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0) // that the kernel forgets what nobody has open
	old.OK("flock f ex")
	later.OK("open f state/f r")
	require.Equal(t, "EAGAIN", later.Call("flock", "f", "exnb"))
	old.OK("close f")
	later.OK("flock f exnb")
}

// Between strangers flock and fcntl locks see each other where locks bind; on a plain file they don't.
func TestI3_FlockAndFcntlSeeEachOther(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared", "--rule", "lk/**=lock", "--rule", "plain/**=plain")
	m.Must("mkdir state lk plain")
	for file, errno := range map[string]string{"state/f": "EAGAIN", "lk/f": "EAGAIN", "plain/f": ""} {
		m.Must("echo x > %s", file)
		for _, pair := range [][2]string{{"flock f ex", "lock g posix w 0 0"}, {"flock f ex", "lock g ofd r 3 1"}, {"flock f sh", "lock g posix w 0 0"},
			{"lock f posix w 9 1", "flock g exnb"}, {"lock f ofd w 0 0", "flock g shnb"}, {"lock f posix r 0 0", "flock g exnb"}} {
			holder, other := m.Client(), m.Client()
			holder.OK("open f "+file+" rw", pair[0])
			other.OK("open g " + file + " rw")
			require.Equal(t, errno, other.Call(called(pair[1])...), "%s: %v", file, pair)
			if errno != "" && strings.HasPrefix(pair[0], "flock") {
				require.Contains(t, other.Call("lock", "g", "posix", "?", 0, 0), fmt.Sprintf("pid %d locks", holder.PID()))
			}
			if errno != "" {
				holder.OK("open g "+file+" rw", pair[1])
			}
			holder.Kill()
			require.Empty(t, other.Call(called(pair[1])...))
			other.Kill()
		}
	}
	require.Equal(t, result{}, m.Run(`python3 -c '
import fcntl, os
f = open("state/mbox", "w"); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); f.write("z")
fcntl.lockf(f, fcntl.LOCK_UN)
if os.fork() == 0: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)'`), "nor is its child")
}

// called are the words of a call.
func called(line string) []any {
	var all []any
	for _, w := range strings.Fields(line) {
		all = append(all, w)
	}
	return all
}

// The version that was being written when the lock came is seen when the last lock is let go; the holder's go first.
func TestI3_AVersionWaitsForTheLockThatCameMeanwhile(t *testing.T) {
	m := stateMount(t)
	m.Must("echo old > state/f")
	writer, a, b := m.Client(), m.Client(), m.Client()
	writer.OK("open f state/f wct", "write f new", "close f") // it begins a version, whole
	require.Equal(t, "new", m.Must("cat state/f"))
	writer.OK("open f state/f wct", "write f newer")
	a.OK("open f state/f r", "flock f sh")
	b.OK("open f state/f r", "lock f posix r 0 0")
	writer.OK("close f")
	require.Equal(t, "new", m.Must("cat state/f"))
	require.Contains(t, m.Must("%s why state/f", binary), "that lock is let go")
	a.OK("open w state/f.tmp wc", "write w mine", "close w")
	require.Equal(t, "EBUSY", a.Call("rename", "state/f.tmp", "state/f"), "b has a lock, too")
	b.OK("close f")
	a.OK("rename state/f.tmp state/f")
	require.Equal(t, "mine", m.Must("cat state/f"))
	a.OK("close f")
	require.Equal(t, "newer", m.Must("cat state/f"), "at once")
	require.Empty(t, m.Status())
}

// An operator's word counts more than a lock, and a restart ends all locks.
func TestI4_WhatWaitsForALockIsPublishedByOrderOrRestart(t *testing.T) {
	m := stateMount(t)
	m.Must("echo old > state/f")
	keep := func() *Client {
		writer, holder := m.Client(), m.Client()
		writer.OK("open f state/f wct", "write f new")
		holder.OK("open f state/f r", "flock f ex")
		writer.OK("close f")
		require.Equal(t, "held", m.State("state/f"))
		return holder
	}
	holder := keep()
	m.Must("%s publish state/f", binary)
	require.Equal(t, "new", m.Must("cat state/f"))
	holder.Kill()
	m.Must("echo old > state/f")
	holder = keep()
	m.crash()
	holder.Kill()
	m.start()
	require.Equal(t, "new", m.Must("cat state/f"))
}

// Who truncates a pid file that the running program has locked, and gives up, leaves it; who gets the lock truncates it.
func TestI8_TruncatingALockedPidFileIsPutOff(t *testing.T) {
	m := lockMount(t)
	daemon := m.Start("exec 9>lk/d.pid; flock 9; echo $$ >&9; read")
	m.untilLocks(1, 0)
	pid := fmt.Sprint(daemon.PID())
	m.Until("it has written its pid", func() bool { return m.Run("cat lk/d.pid").Out == pid+"\n" })
	start := `python3 -c 'import fcntl; f = open("lk/d.pid", "w"); fcntl.flock(f, fcntl.LOCK_EX %s); f.write("7\n")'`
	require.NotZero(t, m.Run(start, "| fcntl.LOCK_NB").Code)
	require.Equal(t, pid, m.Must("cat lk/d.pid"))
	require.NotZero(t, m.Run("echo 1 > lk/d.pid").Code, "who does not lock")
	require.NotZero(t, m.Run("echo 1 >> lk/d.pid").Code)
	require.NotZero(t, m.Run("truncate -s 0 lk/d.pid").Code)
	require.NotZero(t, m.Run(`python3 -c 'import os; f = os.open("lk/d.pid", os.O_RDWR); os.posix_fallocate(f, 0, 99)'`).Code)
	require.Equal(t, pid, m.Must("cat lk/d.pid"))
	waiter := m.Start(start, "")
	m.untilLocks(1, 1)
	require.Equal(t, pid, m.Must("cat lk/d.pid"))
	m.Must("stat -c %%s lk/d.pid")
	daemon.Say()
	require.Zero(t, daemon.Wait().Code)
	require.Equal(t, result{}, waiter.Wait())
	require.Equal(t, "7", m.Must("cat lk/d.pid"), "its length, too")
	later := m.Client()
	first := m.Client()
	first.OK("open f lk/d.pid rw", "flock f ex")
	later.OK("open f lk/d.pid wt")
	first.OK("close f")
	require.Equal(t, "7", m.Must("cat lk/d.pid"))
	later.OK("write f 8", "close f")
	require.Equal(t, "8", m.Must("cat lk/d.pid"), "who writes when nobody has it any more truncates it, too")
}

// A lock file is not removed under those who hold it or wait for it.
func TestI3_ALockFileStaysWhileItIsHeldOrWaitedFor(t *testing.T) {
	m := lockMount(t)
	holder, waiter, other := m.Client(), m.Client(), m.Client()
	remove := func(errno string) {
		require.Equal(t, errno, other.Call("unlink", "lk/f"))
		require.Equal(t, errno, other.Call("rename", "lk/f", "lk/g"))
		require.Equal(t, errno, other.Call("rename", "lk/t", "lk/f"))
	}
	m.Must(": > lk/t")
	holder.OK("open f lk/f rwc", "flock f ex")
	remove("EBUSY")
	m.untilLogged("met the lock on f of pid")
	waiter.OK("open f lk/f rw")
	waiter.Begin("lock", "f", "posix", "W", 0, 0)
	m.untilLocks(1, 1)
	remove("EBUSY")
	holder.OK("unlink lk/f")
	other.OK("open n lk/f rwc")
	other.OK("flock n exnb", "unlink lk/f", "close n")
	holder.Kill()
	require.Empty(t, waiter.End(), "of the file that is gone")
	require.Empty(t, m.List("lk")[1:])
}

// Who may only read a lock file and waits for it, or holds it, keeps nobody from anything; nor does who may only read a
// state file.
func TestI8_WhoMayNotWriteLocksNobodyOutOfTheFile(t *testing.T) {
	m := lockMount(t)
	const alice, bob = 1201, 1202
	m.Must("chmod 777 lk q; mkdir -m 777 state")
	for _, file := range []string{"lk/f", "q/f"} {
		require.Zero(t, m.RunAs(alice, "umask 022; echo x > %s", file).Code)
		holder := m.StartAs(bob, "exec 9<%s; flock 9; read", file)
		m.untilLocks(1, 0)
		if file == "lk/f" {
			require.Equal(t, result{}, m.RunAs(alice, "echo y >> lk/f && : > lk/f && mv lk/f lk/g && rm lk/g"))
		}
		holder.Kill()
		m.untilLocks(0, 0)
	}
	require.Zero(t, m.RunAs(alice, "echo x > lk/f; chmod 666 lk/f").Code)
	m.StartAs(bob, "exec 9<>lk/f; flock 9; read")
	m.untilLocks(1, 0)
	require.Contains(t, m.RunAs(alice, "echo y >> lk/f").Out, "busy", "he may write it")
	m.Must("echo y >> lk/f")
}

// No call slips in between a lock's grant and what its holder finds: under it he sees one version, and one content,
// whatever others try all the time.
func TestI3_NoCallSlipsInUnderALock(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared", "--rule", "lk/**=lock")
	m.Must("mkdir state lk; echo 0 > state/f; echo 0 > lk/f")
	var others []*Process
	for n, script := range []string{
		`echo %[1]d$i > state/f`, `echo %[1]d$i > state/t%[1]d.tmp && mv state/t%[1]d.tmp state/f`, `rm state/f && echo %[1]d$i > state/f`,
		`echo %[1]d$i > lk/f`, `echo %[1]d$i >> lk/f; truncate -s 0 lk/f`, `rm lk/f && echo %[1]d$i > lk/f`,
	} {
		others = append(others, m.Start(`exec 2>/dev/null; for ((i = 0; ; i++)); do `+fmt.Sprintf(script, n)+`; read -t 0.001; [[ $? = 1 ]] && exit; done; exit 0`))
	}
	check := `exec python3 -c '
import fcntl, os, sys
def content(path):
    with open(path) as f: return f.read(), os.fstat(f.fileno()).st_ino
bad = seen = 0
last = None
while seen < %[2]d:
    try: f = open("%[1]s", "r+")
    except OSError: continue
    try: fcntl.flock(f, fcntl.LOCK_EX)
    except OSError: continue
    try: first = content("%[1]s")
    except FileNotFoundError: continue
    if os.fstat(f.fileno()).st_ino != first[1]: f.close(); continue
    for i in range(20):
        try: bad += content("%[1]s") != first
        except OSError: bad += 1
    seen += last != first
    last = first
    f.close()
print("bad", bad)'`
	a, b := m.Start(check, "state/f", 15), m.Start(check, "lk/f", 15)
	require.Equal(t, result{Out: "bad 0\n"}, a.Wait())
	require.Equal(t, result{Out: "bad 0\n"}, b.Wait())
	for _, p := range others {
		p.in.Close()
		p.Wait()
	}
}

// Programs that lock the very file that they read and change in place: whoever gets the lock finds by his descriptor what
// the one before has left, though that is another version.
func TestI6_WhoLocksTheFileItselfChangesTheCurrentVersion(t *testing.T) {
	m := stateMount(t)
	for _, lock := range []string{"flock", "lockf"} {
		m.Must("printf 0 > state/f")
		var all []*Process
		for range 4 {
			all = append(all, m.Start(`exec python3 -c '
import fcntl
for i in range(10):
    with open("state/f", "r+") as f:
        f.read()
        fcntl.%s(f, fcntl.LOCK_EX)
        f.seek(0); n = int(f.read())
        f.seek(0); f.write(str(n + 1)); f.truncate()'`, lock))
		}
		for _, p := range all {
			require.Equal(t, result{}, p.Wait())
		}
		require.Equal(t, "40", m.Must("cat state/f"), lock)
	}
	c, other := m.Client(), m.Client()
	c.OK("open f state/f rw")
	require.Equal(t, "40", c.Call("read", "f"))
	other.OK("open f state/f wct", "write f longer", "close f")
	require.Equal(t, "40", c.Call("read", "f"), "who has no lock keeps his version")
	require.Equal(t, "EBUSY", c.Call("write", "f", "x"))
	c.OK("flock f ex")
	require.Equal(t, "longer", c.Call("read", "f"))
	c.OK("write f 4", "close f")
	require.Equal(t, "4onger", m.Must("cat state/f"))
}

// A daemon that has locked its file and went into the background then, in a session of its own, is its holder.
func TestI3_ADaemonHoldsWhatItLockedBeforeItWentIntoTheBackground(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared", "--rule", "lk/**=lock", "--wait", "0")
	m.Must("mkdir state lk; echo x > state/f")
	gate := scratch(t) + "/gate"
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	m.Must(`python3 -c '
import fcntl, os
pid, lock = open("lk/d.pid", "w"), open("state/f.lock", "w")
for f in (pid, lock): fcntl.flock(f, fcntl.LOCK_EX)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for n in range(3): os.close(n)
os.open("%[1]s", os.O_RDONLY); os.open("%[1]s.log", os.O_WRONLY | os.O_CREAT, 0o600); os.dup(1)
os.read(0, 1)
print(os.getpid(), file=pid, flush=True)
open("state/f", "a").write("y")
os.unlink("lk/d.pid")
os.unlink("state/f.lock")'`, gate)
	m.untilLocks(2, 0)
	require.Contains(t, m.Run("cat state/f").Out, "busy")
	require.Contains(t, m.Run("echo 1 >> lk/d.pid").Out, "busy")
	require.Contains(t, m.Run("rm lk/d.pid").Out, "busy")
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = open.Write([]byte("x"))
	require.NoError(t, err)
	m.untilLocks(0, 0)
	open.Close()
	require.Equal(t, "x\ny", m.Must("cat state/f"), content(t, gate+".log"))
	require.Empty(t, m.List("lk"))
}
