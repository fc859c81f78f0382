package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordFile is what the files of these tests hold: a hundred bytes.
var recordFile = strings.Repeat("0123456789", 10)

// recordMount mounts with a folder of class records and a file in it.
func recordMount(t *testing.T) *Mount {
	m := mount(t, "--rule", "r/**=records", "--rule", "p/**=plain")
	m.Must("mkdir r p q; printf %%s %s > r/f", recordFile)
	return m
}

// recordLocks take bytes 10 to 19, or all.
var recordLocks = map[string]string{
	"posix w": "lock f posix w 10 10", "ofd w": "lock f ofd w 10 10", "flock w": "flock f ex",
	"posix r": "lock f posix r 10 10", "ofd r": "lock f ofd r 10 10", "flock r": "flock f sh",
}

// recordUses are uses of bytes 10 to 19 by who holds no lock: on g, open for reading and writing, a, open for appending, o,
// another file, and by path.
var recordUses = []struct {
	call   string
	writes bool
}{
	{"pread g 0 100", false}, {"pread g 19 1", false}, {"copyto o 0 g 5 10", false}, {"sendfile g 5 10", false}, {"splice g 5 10", false},
	{"pwrite g 10 x", true}, {"pwrite g 5 0123456789", true}, {"copyto g 5 o 0 10", true},
	{"ftruncate g 15", true}, {"truncate r/f 15", true}, {"open t r/f wt", true}, {"allocate g 15 3", true}, {"punch g 0 11", true},
}

func TestI3_RecordsLockedBindWhoNeverLocks(t *testing.T) {
	m := recordMount(t)
	for kind, take := range recordLocks {
		t.Run(kind, func(t *testing.T) {
			m.Must("printf %%s %s > r/f", recordFile)
			holder, other := m.Client(), m.Client()
			holder.OK("open f r/f rw", take)
			other.OK("open g r/f rw", "open o r/o rwc", "pwrite o 0 0123456789")
			for _, use := range recordUses {
				answer := other.Call(callWords(use.call)...)
				if use.writes || strings.HasSuffix(kind, "w") {
					require.Equal(t, "EBUSY", answer, use.call)
				} else {
					require.NotContains(t, []string{"EBUSY", "EAGAIN"}, answer, use.call)
				}
			}
			require.Equal(t, recordFile, holder.Call("read", "f"), "who holds it reads")
			holder.OK("pwrite f 0 0")
			holder.Kill()
			for _, use := range recordUses {
				require.NotContains(t, []string{"EBUSY", "EAGAIN"}, other.Call(callWords(use.call)...), "free: %s", use.call)
			}
			other.Kill()
		})
	}
}

func TestI8_RecordsBesideTheLockedOnesAreFree(t *testing.T) {
	m := recordMount(t)
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw", "lock f posix w 10 10")
	other.OK("open g r/f rw", "open a r/f wa", "pwrite g 0 0123456789", "pwrite g 20 0", "ftruncate g 20", "ftruncate g 200", "allocate g 20 10", "write a end")
	require.Equal(t, "0123456789", other.Call("pread", "g", 0, 10))
	require.Equal(t, "\x00\x00\x00end", other.Call("pread", "g", 197, 10))
	holder.OK("lock f posix u 0 0", "lock f posix w 203 0")
	require.Equal(t, "EBUSY", other.Call("write", "a", "more"), "an append is where the end is")
	require.Equal(t, "EBUSY", other.Call("ftruncate", "g", 204))
	require.Equal(t, "end", other.Call("pread", "g", 200, 1000), "what is beyond the end is nobody's")
	require.Empty(t, other.Call("pread", "g", 203, 1000))
	holder.OK("pwrite f 203 xy")
	require.Equal(t, "EBUSY", other.Call("pread", "g", 200, 1000))
}

func TestI8_RecordsUpgradeDowngradeAndSplit(t *testing.T) {
	m := recordMount(t)
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw", "lock f posix r 0 100", "lock f posix w 40 20", "lock f posix u 50 5")
	other.OK("open g r/f rw")
	for at, want := range map[int][2]string{0: {"", "EBUSY"}, 39: {"", "EBUSY"}, 40: {"EBUSY", "EBUSY"}, 49: {"EBUSY", "EBUSY"},
		50: {"", ""}, 54: {"", ""}, 55: {"EBUSY", "EBUSY"}, 59: {"EBUSY", "EBUSY"}, 60: {"", "EBUSY"}, 99: {"", "EBUSY"}, 100: {"", ""}} {
		read := other.Call("pread", "g", at, 1)
		require.Equal(t, want[0] == "EBUSY", read == "EBUSY", "reading byte %d: %s", at, read)
		require.Equal(t, want[1], other.Call("pwrite", "g", at, "x"), "writing byte %d", at)
	}
	holder.OK("lock f posix r 0 100")
	require.NotEqual(t, "EBUSY", other.Call("pread", "g", 0, 100), "all of it is read again")
	require.Equal(t, "EBUSY", other.Call("pwrite", "g", 52, "x"))
}

func TestI8_RecordsLockIsItsHoldersAndKins(t *testing.T) {
	m := recordMount(t)
	for kind, take := range recordLocks {
		t.Run(kind, func(t *testing.T) {
			holder := m.Client()
			holder.OK("open f r/f rw", take, "open second r/f rw", "pwrite second 10 x")
			stranger := m.Client()
			stranger.OK("open g r/f rw")
			require.Equal(t, "EBUSY", stranger.Call("pwrite", "g", 12, "x"))
			holder.OK("child", "open g r/f rw", "pwrite g 12 x", "ftruncate g 100")
			require.NotEqual(t, "EBUSY", holder.Call("pread", "g", 0, 20))
			holder.Kill()
		})
	}
	require.Equal(t, result{}, m.Run(`flock r/f sh -c 'cat r/f > r/g && cp r/f r/h && cmp r/g r/h && echo x >> r/f'`), "flock(1) holds it for its command")
	require.Equal(t, result{}, m.Run(`exec 9<>r/f; flock 9; head -c 1 r/f >/dev/null && echo x >> r/f`), "and for the shell that opened it")
	require.Equal(t, result{}, m.Run(`( flock 9; head -c 1 r/f >/dev/null && echo x >> r/f ) 9<>r/f`))
}

// inheriting locks a file and has a stranger, who was given its open file, write to it, by that and by one of his own.
const inheriting = `
import fcntl, os, struct, sys
f = os.open("r/f", os.O_RDWR)
whole = struct.pack("hh4xqqi4x", fcntl.F_WRLCK, 0, 10, 10, 0)
{"posix": lambda: fcntl.fcntl(f, fcntl.F_SETLK, whole), "ofd": lambda: fcntl.fcntl(f, 37, whole), "flock": lambda: fcntl.flock(f, fcntl.LOCK_EX)}[sys.argv[1]]()
if os.fork() == 0:
    os.setsid()
    for fd in f, os.open("r/f", os.O_RDWR):
        try: os.pwrite(fd, b"x", 12)
        except OSError as e: print(e.errno, end=" ")
        else: print("ok", end=" ")
    sys.exit()
os.wait()
`

func TestI3_RecordsLockedByAnOpenFileAreOfAllWhoHaveIt(t *testing.T) {
	m := mount(t, "--rule", "r/**=records", "--rule", "p/**=plain")
	m.Must("mkdir r p; printf %%s %s > r/f; echo %s > p/inheriting", recordFile, quote(inheriting))
	for kind, want := range map[string]string{"posix": "16 16 ", "ofd": "ok 16 ", "flock": "ok 16 "} {
		require.Equal(t, want, m.Must("python3 p/inheriting %s", kind), kind)
	}
}

func TestI3_RecordsOfAParentAreLockedAgainstItToo(t *testing.T) {
	m := recordMount(t)
	require.Equal(t, "16", m.Must(`python3 -c '
import fcntl, os
f = os.open("r/f", os.O_RDWR)
locked, says = os.pipe()
ended, ends = os.pipe()
if os.fork() == 0:
    os.close(ends)
    fcntl.lockf(f, fcntl.LOCK_EX, 10, 10)
    os.write(says, b"1")
    os.read(ended, 1)
    os._exit(0)
os.read(locked, 1)
try: os.pwrite(f, b"x", 12)
except OSError as e: print(e.errno)
'`), "a child's POSIX lock is not its parent's, though they share the open file")
}

func TestI8_RecordsNonBlockingIsEAGAIN(t *testing.T) {
	m := recordMount(t)
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw", "lock f ofd w 10 10")
	other.OK("open g r/f rwn")
	require.Equal(t, "EAGAIN", other.Call("pread", "g", 0, 100))
	require.Equal(t, "EAGAIN", other.Call("pwrite", "g", 12, "x"))
	require.Equal(t, "EAGAIN", other.Call("open", "t", "r/f", "wtn"))
}

func TestI3_RecordsAreNotReadThroughMappings(t *testing.T) {
	m := recordMount(t)
	m.Must("head -c 8192 /dev/zero | tr '\\0' a > r/f")
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw")
	other.OK("open g r/f rw")
	require.Equal(t, "ENODEV", other.Call("map", "g"), "a shared mapping would need no call to read")
	require.Equal(t, "ENODEV", other.Call("mapw", "g"))
	other.OK("privately g")
	require.Equal(t, strings.Repeat("a", 4096), other.Call("load", "g"))
	holder.OK("lock f posix w 10 10")
	require.Equal(t, "SIGBUS", other.Call("load", "g"), "a page that it had read is gone")
	holder.OK("pwrite f 10 b", "lock f posix r 10 10")
	require.Equal(t, strings.Repeat("a", 10)+"b"+strings.Repeat("a", 4085), other.Call("load", "g"))
	holder.OK("lock f posix w 5000 10")
	require.NotEqual(t, "SIGBUS", other.Call("load", "g"), "another page's bytes")
	require.Len(t, m.refused(other.PID()), 1, "what the kernel reads ahead is not asked for: %v", m.refused(other.PID()))
}

// What goes to the kernel's page cache goes to everybody, so not even the holder may put there what it has locked.
func TestI3_RecordsDoNotLeakThroughTheHoldersCache(t *testing.T) {
	m := recordMount(t)
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw", "open p p/f rwc", "flock f ex")
	require.Equal(t, "EBUSY", holder.Call("sendfile", "f", 0, 100))
	require.Equal(t, "EBUSY", holder.Call("splice", "f", 0, 100))
	holder.OK("copyto p 0 f 0 100")
	other.OK("open g r/f r")
	require.Equal(t, "EBUSY", other.Call("sendfile", "g", 0, 100))
	require.Equal(t, recordFile, m.Must("cat p/f"))
}

// tearing: one writes a file's two halves by two writes, under a lock, over and over. A reader and a writer that never lock
// get in between if they can. It goes on until each of them has met the lock, and the file without it.
const tearing = `
import fcntl, os, sys
f = os.open("r/t", os.O_RDWR)
who, half = sys.argv[1], 4096
def attempt(call):
    try: return call()
    except OSError as e:
        if e.errno != 16: raise
def hold(n):
    fcntl.lockf(f, fcntl.LOCK_EX, 2 * half)
    byte = bytes([97 + n % 20])
    os.pwrite(f, byte * half, 0)
    os.pwrite(f, byte * half, half)
    if os.pread(f, 2 * half, 0) != byte * 2 * half: sys.exit("somebody wrote under the lock")
    fcntl.lockf(f, fcntl.LOCK_UN, 2 * half)
def read():
    got = attempt(lambda: os.pread(f, 2 * half, 0))
    if len(set(got or b"") - set(b"A")) > 1: sys.exit("torn")
    return got
n, seen = 0, set()
if who == "holder":
    while n < 300 or not (os.path.exists("p/reader") and os.path.exists("p/writer")):
        hold(n)
        n += 1
    sys.exit()
while len(seen) < 2:
    seen.add((read() if who == "reader" else attempt(lambda: os.pwrite(f, b"A", 5000))) is None)
open("p/" + who, "w")
`

func TestI1_NoCallSlipsPastALockOfRecords(t *testing.T) {
	m := recordMount(t)
	m.Must("truncate -s 8192 r/t; echo %s > p/tearing", quote(tearing))
	var all []*Process
	for _, who := range []string{"holder", "reader", "writer"} {
		all = append(all, m.Start("exec python3 p/tearing %s", who))
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
}

func TestI3_RecordsThatCameWithADescriptorAreNotLocked(t *testing.T) {
	m := recordMount(t)
	old, c := m.Client(), m.Client()
	m.Must("echo x > p/g")
	old.OK("open g p/g rw", "map g", "rename p/g r/g")
	c.OK("open f r/g rw")
	require.Equal(t, "EBUSY", c.Call("lock", "f", "posix", "w", 0, 0), "it may be mapped")
	require.Equal(t, "EBUSY", old.Call("flock", "g", "exnb"))
	old.Kill()
	c.OK("lock f posix w 0 0")
}

func TestI3_RecordsHaveNoNamesOfAnotherClass(t *testing.T) {
	m := recordMount(t)
	c := m.Client()
	require.Equal(t, "EXDEV", c.Call("link", "r/f", "p/f"))
	m.Must("echo x > p/x; ln p/x p/y")
	require.Equal(t, "EXDEV", c.Call("link", "p/x", "r/x"))
	require.Equal(t, "EXDEV", c.Call("rename", "p/x", "r/x"), "its other name would still be plain")
	c.OK("link r/f r/g")
	holder := m.Client()
	holder.OK("open f r/g rw", "flock f ex")
	c.OK("open f r/f rw")
	require.Equal(t, "EBUSY", c.Call("pread", "f", 0, 1))
}

func TestI3_RecordsAreLockedByWhoMayWriteThem(t *testing.T) {
	m := recordMount(t)
	m.Must("chmod 755 r; chown 1001 r/f; chmod 644 r/f")
	owner := `exec python3 -c 'import os; f = os.open("r/f", os.O_RDWR); os.pwrite(f, b"x", 12); print(len(os.pread(f, 100, 0)))'`
	lockers := `exec python3 -c 'import fcntl; f = open("r/f", "%s"); fcntl.flock(f, fcntl.LOCK_EX); input()'`
	reader := m.StartAs(65534, lockers, "r")
	m.untilLocks(1, 0)
	require.Equal(t, result{Out: "100\n"}, m.RunAs(1001, owner), "who may only read the file does not lock its owner out")
	reader.Kill()
	holder := m.StartAs(1001, lockers, "r")
	m.untilLocks(1, 0)
	require.Equal(t, 1, m.RunAs(65534, "cat r/f").Code, "who may write it does, by whatever descriptor")
	require.Equal(t, result{Out: "100\n"}, m.Run(owner), "root passes what others have locked")
	holder.Kill()
	m.Start(lockers, "r+")
	m.untilLocks(1, 0)
	require.Contains(t, m.RunAs(1001, owner).Out, "busy")
	require.Contains(t, m.Run(owner).Out, "busy", "but not what root has")
}

func TestI3_ARefusalOfRecordsNamesTheLock(t *testing.T) {
	m := recordMount(t)
	holder, other := m.Client(), m.Client()
	holder.OK("open f r/f rw", "lock f posix w 10 10", "lock f posix r 50 0")
	other.OK("open g r/f rw")
	for range 3 {
		require.Equal(t, "EBUSY", other.Call("pread", "g", 0, 100))
	}
	require.Equal(t, "EBUSY", other.Call("pwrite", "g", 60, "x"))
	var refusals []string
	for _, e := range m.refused(other.PID()) {
		refusals = append(refusals, e.Path+" "+e.Detail)
	}
	require.Len(t, refusals, 2, "each lock once, however often it is met: %v", refusals)
	require.Regexp(t, fmt.Sprintf(`^r/f read: busy: met the write lock on bytes 10 to 19 of pid %d \(.*\) since \d\d:\d\d:\d\d; `, holder.PID()), refusals[0])
	require.Regexp(t, fmt.Sprintf(`^r/f write: busy: met the read lock from byte 50 on of pid %d `, holder.PID()), refusals[1])
}

// TestI3_RecordsBindEveryWayToAskForThem: threads, requests that are not waited for (libaio), and without a cache (O_DIRECT).
func TestI3_RecordsBindEveryWayToAskForThem(t *testing.T) {
	m := recordMount(t)
	m.Must("truncate -s 64k r/f")
	const fio = `cd r; fio --name=x --filename=f --ioengine=%s --rw=%s --bs=4k --size=64k --iodepth=4 --overwrite=1 --allow_file_create=0 %s`
	holder := m.Client()
	holder.OK("open f r/f rw", "lock f posix w 20000 10")
	for _, ask := range [][]any{{"psync", "read", ""}, {"psync", "write", "--thread"}, {"libaio", "read", ""}, {"libaio", "write", "--direct=1"}, {"psync", "read", "--direct=1"}} {
		r := m.Run(fio, ask...)
		require.NotZero(t, r.Code, ask)
		require.Contains(t, r.Out, "Device or resource busy: "+ask[1].(string)+" offset=16384,", ask)
	}
	require.Equal(t, result{Out: "1 1\n"}, m.Run(`exec python3 -c '
import fcntl, os, threading
f, g = os.open("r/f", os.O_RDWR), os.open("r/f", os.O_RDWR)
fcntl.lockf(f, fcntl.LOCK_EX, 10, 0)
wrote = []
for fd in f, g:
    t = threading.Thread(target=lambda: wrote.append(os.pwrite(fd, b"x", 5)))
    t.start()
    t.join()
print(*wrote)'`), "a thread acts under its process's locks")
	holder.Kill()
	require.Zero(t, m.Run(fio, "libaio", "write", "--direct=1").Code)
}
