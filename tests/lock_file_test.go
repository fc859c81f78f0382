package tests

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stateMount has folders of the classes that a lock file binds: state is shared, in a queue.
func stateMount(t *testing.T, flags ...string) *Mount {
	m := mount(t, append([]string{"--rule", "state/**=shared", "--observer", "uid=65534"}, flags...)...)
	m.Must("mkdir -m 777 state in")
	return m
}

// jobs is the module that agents share, with a lock beside the file, an atomic save, and a context manager.
const jobs = `
import contextlib, fcntl, json, os, sys, tempfile
PATH = "state/jobs.json"

def atomic_write(path, data):
    fd, tmp = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".jobs.", suffix=".tmp")
    try:
        with os.fdopen(fd, "w") as f:
            json.dump(data, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp, path)
    except BaseException:
        os.unlink(tmp)
        raise

@contextlib.contextmanager
def file_lock(path, shared=False):
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)

def save_with_lock(data):
    with file_lock(PATH):
        atomic_write(PATH, data)

def load_with_lock():
    with file_lock(PATH, shared=True):
        with open(PATH) as f:
            text = f.read()
    return json.loads(text)

def add_with_lock(job):
    with file_lock(PATH):
        with open(PATH) as f:
            data = json.load(f)
        data.append(job)
        atomic_write(PATH, data)
`

// jobsScript is a script that has the module above.
func jobsScript(script string) string {
	return "exec python3 -c " + quote(jobs+script)
}

// Programs that lock a file beside the state file, and one that just opens and writes: each save is whole, the lock file
// stays, and who did not lock waited until the others had ended.
func TestI6_SavesUnderALockFileAndOneThatDoesNotLock(t *testing.T) {
	m := stateMount(t)
	m.Must("%s", jobsScript(`save_with_lock([])`))
	var all []*Process
	for n := range 4 {
		all = append(all, m.Start(jobsScript(fmt.Sprintf("for i in range(10): add_with_lock(f'%d.{i}'); load_with_lock()", n))))
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
	require.Equal(t, "40", m.Must("%s", jobsScript(`print(len(set(load_with_lock())))`)))

	holder := m.Start(jobsScript(`
with file_lock(PATH):
    data = load = json.load(open(PATH))
    sys.stdin.readline()
    data.append("held"); atomic_write(PATH, data)`))
	m.untilLocks(1, 0)
	other := m.Start(`exec python3 -c 'import json; f = open("state/jobs.json", "r+"); d = json.load(f); f.seek(0); f.truncate(); d.append("ignorant"); json.dump(d, f)'`)
	m.untilLocks(1, 1)
	require.Equal(t, "OPEN WRITE state/jobs.json", m.waitingFor())
	holder.Say()
	require.Equal(t, result{}, holder.Wait())
	require.Equal(t, result{}, other.Wait())
	require.Equal(t, "['held', 'ignorant']", m.Must("%s", jobsScript(`print(load_with_lock()[-2:])`)))
	require.Equal(t, "jobs.json jobs.json.lock", strings.Join(m.List("state"), " "))
}

// waitingFor is what waits, as "airlockfs locks" has it.
func (m *Mount) waitingFor() string {
	m.t.Helper()
	var all []string
	for _, l := range m.Locks() {
		if l.Blocked {
			all = append(all, l.Kind+" "+l.Mode+" "+l.Path)
		}
	}
	return strings.Join(all, ", ")
}

// An exclusive lock on X.lock stops who reads X and who writes it; a shared one only who writes. Neither stops its
// holder's children, nor who looks.
func TestI3_ALockFileBindsWhoOpensTheFile(t *testing.T) {
	for lock, stops := range map[string]map[string]bool{
		"flock -x": {"cat %s": true, "echo x >> %s": true, "echo x > %s": true, "echo x 1<> %s": true},
		"flock -s": {"cat %s": false, "echo x >> %s": true, "echo x > %s": true, "echo x 1<> %s": true},
	} {
		for _, file := range []string{"state/f", "in/f"} {
			t.Run(lock+" "+file, func(t *testing.T) {
				m := stateMount(t, "--wait", "5ms")
				m.Must("echo old > %s", file)
				holder := m.Start(`exec 9>%s.lock; %s 9; read; flock -u 9; read`, file, lock)
				m.untilLocks(1, 0)
				require.Zero(t, m.Run("stat %s", file).Code)
				for call, stop := range stops {
					r := m.Run(call, file)
					require.Equal(t, stop, strings.Contains(r.Out, "Device or resource busy"), "%s: %v", call, r)
					require.Equal(t, stop, r.Code != 0, call)
				}
				m.untilLogged("met the lock on f.lock of pid")
				holder.Say()
				m.untilLocks(0, 0)
				for call := range stops {
					require.Zero(t, m.Run(call, file).Code, call)
				}
			})
		}
	}
}

// Who holds the lock works on the file, and so do its children, whoever of them has locked: with flock(1) around a
// command, in a subshell, by a descriptor that flock(1) locks for its shell.
func TestI3_ALockFileDoesNotBindItsHolder(t *testing.T) {
	m := stateMount(t, "--wait", "0")
	m.Must("echo x > state/f")
	work := `cat state/f && echo y > state/f && python3 -c "open('"'state/f'"', '"'a'"').write('"'z'"')" && sed -i s/y/w/ state/f`
	for _, script := range []string{
		`exec 9>state/f.lock; flock 9; ` + work,
		`exec 9<>state/f.lock; flock 9; (` + work + `)`,
		`( flock 9; ` + work + ` ) 9>state/f.lock`,
		`flock state/f.lock bash -c ` + quote(work),
		`exec 9>state/f.lock; flock 9; (exec 8>state/f.lock; ! flock -n 8) && ` + work,
	} {
		r := m.Run("%s", script)
		require.Zero(t, r.Code, "%s: %s", script, r.Out)
	}
	require.Equal(t, "w\nz", m.Must("cat state/f"))
}

// A lock binds only if its holder may write the file, and root only if root holds it.
func TestI8_WhoMayNotWriteAFileLocksNobodyOut(t *testing.T) {
	m := stateMount(t, "--wait", "0")
	const alice, bob = 1201, 1202
	require.Zero(t, m.RunAs(alice, "umask 022; echo x > state/f; : > state/f.lock; chmod 666 state/f.lock").Code)
	holds := "exec 9<>state/f.lock; flock 9; read"
	holder := m.StartAs(bob, holds)
	m.untilLocks(1, 0)
	require.Equal(t, result{Out: "x\n"}, m.RunAs(alice, "cat state/f; echo y > state/f"))
	holder.Kill()
	holder = m.StartAs(alice, holds)
	m.untilLocks(1, 0)
	require.Contains(t, m.RunAs(bob, "cat state/f").Out, "busy")
	require.Contains(t, m.RunAs(alice, "cat state/f").Out, "busy", "his other programs")
	require.Equal(t, "y", m.Must("cat state/f"), "root overrides")
	holder.Kill()
	m.Start(holds)
	m.untilLocks(1, 0)
	require.Contains(t, m.Run("cat state/f").Out, "busy", "root holds it")
}

// TestRootOverride: switched off, root is bound like anybody.
func TestRootOverride(t *testing.T) {
	for over, code := range map[string]int{"true": 0, "false": 1} {
		t.Run(over, func(t *testing.T) {
			m := stateMount(t, "--wait", "0", "--root-override="+over)
			m.StartAs(1201, "echo x > state/f; exec 9>state/f.lock; flock 9; read")
			m.untilLocks(1, 0)
			require.Equal(t, code, m.Run("cat state/f").Code)
		})
	}
}

// lockKinds are the calls that lock a file.
var lockKinds = []string{"flock f ex", "lock f posix w 0 0", "lock f ofd w 5 1"}

func TestI3_AnOpenWaitsForTheLockFileOfEachKind(t *testing.T) {
	for _, lock := range lockKinds {
		t.Run(lock, func(t *testing.T) {
			m := stateMount(t)
			m.Must("echo old > state/f")
			holder, reader, writer := m.Client(), m.Client(), m.Client()
			holder.OK("open f state/f.lock rwc", lock)
			reader.Begin("open", "r", "state/f", "r")
			writer.Begin("open", "w", "state/f", "wct")
			m.untilLocks(1, 2)
			require.Equal(t, "EAGAIN", m.Client().Call("open", "r", "state/f", "rn"), "O_NONBLOCK")
			require.Equal(t, "EBUSY", m.Client().Call("truncate", "state/f", 1), "other calls don't wait")
			holder.OK("open w state/f.tmp wc", "write w new", "close w", "rename state/f.tmp state/f")
			require.True(t, reader.Blocked() && writer.Blocked())
			holder.OK("close f")
			require.Empty(t, reader.End())
			require.Equal(t, "new", reader.Call("read", "r"), "what the holder left")
			require.Empty(t, writer.End())
			writer.OK("write w newer", "close w")
			require.Equal(t, "newer", m.Must("cat state/f"))
			require.Empty(t, m.Locks())
		})
	}
}

// The wait ends with the holder, in whichever way that ends.
func TestI7_AnOpenThatWaitsGoesOnAtOnce(t *testing.T) {
	m := stateMount(t, "--wait", "1h")
	m.Must("echo x > state/f")
	for how, end := range map[string]func(*Client){
		"killed":         (*Client).Kill,
		"closed":         func(c *Client) { c.OK("close f") },
		"downgraded":     func(c *Client) { c.OK("flock f sh") },
		"removed it":     func(c *Client) { c.OK("unlink state/f.lock") },
		"renamed it":     func(c *Client) { c.OK("rename state/f.lock state/g.lock") },
		"closed its dup": func(c *Client) { c.OK("dup f d", "close f", "close d") },
	} {
		holder, reader := m.Client(), m.Client()
		holder.OK("open f state/f.lock rwc", "flock f ex")
		reader.Begin("open", "r", "state/f", "r")
		m.untilLocks(1, 1)
		end(holder)
		require.Empty(t, reader.End(), how)
		holder.Kill()
		reader.Kill()
		m.Must("rm -f state/*.lock")
	}
}

func TestI8_AnOpenThatWaitsIsInterrupted(t *testing.T) {
	m := stateMount(t, "--wait", "1h")
	m.Must("echo x > state/f")
	holder := m.Client()
	holder.OK("open f state/f.lock rwc", "flock f ex")
	waiter := m.Start(`exec perl -e '$SIG{INT} = sub {}; print open(F, "<", "state/f") ? "opened" : $! + 0'`)
	m.untilLocks(1, 1)
	require.NoError(t, syscall.Kill(waiter.PID(), syscall.SIGINT))
	require.Equal(t, result{Out: fmt.Sprint(int(syscall.EINTR))}, waiter.Wait())
	killed := m.Start("exec cat state/f")
	m.untilLocks(1, 1)
	killed.Kill()
	m.untilLocks(1, 0)
	holder.OK("flock f un")
	require.Equal(t, "x", m.Must("cat state/f"))
}

// TestWait: an open waits for who has locked the lock file, so long, and says who it was.
func TestWait(t *testing.T) {
	for wait, least := range map[string]time.Duration{"0": 0, "60ms": 60 * time.Millisecond} {
		t.Run(wait, func(t *testing.T) {
			m := stateMount(t, "--wait", wait)
			m.Must("echo x > state/f")
			holder := m.Client()
			holder.OK("open f state/f.lock rwc", "flock f ex")
			c := m.Client()
			begun := time.Now()
			require.Equal(t, "EBUSY", c.Call("open", "r", "state/f", "r"))
			require.GreaterOrEqual(t, time.Since(begun), least)
			m.untilLogged(fmt.Sprintf("busy: met the lock on f.lock of pid %d", holder.PID()))
			c.OK("open w state/other wc")
		})
	}
}

// Many who lock one after the other let who does not lock have his turn.
func TestI7_AnOpenIsNotStarvedByThoseWhoLock(t *testing.T) {
	m := stateMount(t, "--wait", "3s")
	m.Must("echo x > state/f")
	var all []*Process
	for range 4 {
		all = append(all, m.Start(`exec python3 -c '
import fcntl, select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    f = open("state/f.lock", "w"); fcntl.flock(f, fcntl.LOCK_EX); select.select([], [], [], 0.002); f.close()'`))
	}
	m.Until("some wait", func() bool { return len(m.Locks()) == len(all) })
	c := m.Client()
	for range 20 {
		c.OK("open r state/f r", "open w state/f wa", "close w", "close r")
	}
	for _, p := range all {
		p.in.Close()
		require.Equal(t, result{}, p.Wait())
	}
	require.Empty(t, m.Locks())
}

// Who replaces the file without having read it does not make the holder's save too late.
func TestI6_WhoHoldsTheLockFileSavesWhateverOthersTry(t *testing.T) {
	m := stateMount(t)
	m.Must("%s", jobsScript(`save_with_lock([1])`))
	holder := m.Start(jobsScript(`
with file_lock(PATH):
    data = json.load(open(PATH))
    sys.stdin.readline()
    atomic_write(PATH, data + [2])`))
	m.untilLocks(1, 0)
	early := m.Client()
	for _, script := range []string{"echo [] > state/j.tmp; mv state/j.tmp state/jobs.json", "mv state/jobs.json state/old.json", "rm state/jobs.json"} {
		require.Contains(t, m.Run("%s", script).Out, "busy", script)
	}
	require.Equal(t, "EBUSY", early.Call("truncate", "state/jobs.json", 0))
	holder.Say()
	require.Equal(t, result{}, holder.Wait())
	require.Equal(t, "[1, 2]", m.Must("cat state/jobs.json"))
}
