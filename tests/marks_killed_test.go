package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// contenders are programs that exclude each other by marks of every kind, while a thief tries to take these away and somebody
// kills one after the other. Each notes who is in; two at once, a lock that is taken away, and a call that fails are told.
const contenders = `
import os, random, signal, sys, time
S = sys.argv[1]
KINDS = ["mkdir", "excl", "ln"]

def tell(*words): open(S + "/wrong", "a").write(" ".join(map(str, words)) + "\n")

def living(pid):
    try: return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError: return False

def lock(kind, name):
    if kind == "mkdir":
        os.mkdir(name)
    elif kind == "excl":
        f = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(f, b"%d\n" % os.getpid())
        os.close(f)
    else:
        own = f"lk/{os.getpid()}"
        if not os.path.exists(own): open(own, "w").write(str(os.getpid()))
        os.link(own, name)

def inside(kind):
    at = f"{S}/{kind}"
    try: other = int(os.readlink(at))
    except OSError: other = 0
    if other and other != os.getpid() and living(other): tell(kind, other, "and", os.getpid())
    os.symlink(str(os.getpid()), f"{at}.{os.getpid()}")
    os.rename(f"{at}.{os.getpid()}", at)
    open(S + "/count", "a").write("x")
    os.unlink(at)

def work():
    os.setsid()
    random.seed(os.getpid())
    while True:
        kind = random.choice(KINDS)
        name = f"lk/{kind}.lock"
        try: lock(kind, name)
        except FileExistsError: continue
        except OSError as e: tell(kind, e); continue
        inside(kind)
        try: os.rmdir(name) if kind == "mkdir" else os.unlink(name)
        except OSError as e: tell(kind, "not removed:", e)

def steal():
    os.setsid()
    while True:
        for kind in KINDS:
            try:
                os.rmdir(f"lk/{kind}.lock") if kind == "mkdir" else os.unlink(f"lk/{kind}.lock")
                tell(kind, "stolen")
            except OSError: pass

def start(do):
    pid = os.fork()
    if pid == 0:
        try: do()
        finally: os._exit(1)
    return pid

def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

def count():
    try: return os.path.getsize(S + "/count")
    except OSError: return 0

workers, thief = [start(work) for n in range(4)], start(steal)
for n in range(40):
    before = count()
    while count() < before + 2: pass
    k = random.randrange(len(workers))
    kill(workers[k])
    workers[k] = start(work)
for pid in workers + [thief]: kill(pid)
for kind in KINDS: # at once
    lock(kind, f"lk/{kind}.lock")
`

// TestI3_MarksExcludeWhoeverIsKilled: one at a time is in, though holders are killed and others steal; and the next one gets in.
func TestI3_MarksExcludeWhoeverIsKilled(t *testing.T) {
	m := markMount(t)
	scratch := scratch(t)
	r := m.Run(`exec python3 -c %s %s`, quote(contenders), scratch)
	require.Equal(t, result{}, r)
	require.Equal(t, "", m.Must(`cat %s/wrong 2> /dev/null; true`, scratch))
}
