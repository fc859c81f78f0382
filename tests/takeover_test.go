package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// takeOverRounds is how many times a race is run: 40, or as AIRLOCKFS_ROUNDS says.
func takeOverRounds(t *testing.T) int { return surroundings.Number(t, "AIRLOCKFS_ROUNDS", 40) }

const takers = 16

// takeOver has takers race for what a stale owner has left, in rounds. In each the takers, each a session of its own, try the
// same at once; the line that is printed is how many rounds had no winner, one, and more. MODE says what they race for.
const takeOver = `
import ctypes, json, os, signal, sys
mode, rounds, takers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def session():              # of its own, but it does not outlive the race: PR_SET_PDEATHSIG
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)

def put(path, text):
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(f, text); os.close(f)

def claim(k):               # the item, as it is: who can read it has it, and settles it
    f = os.open("item%d" % k, os.O_RDONLY)
    has = os.read(f, 9) == b"work"
    try: os.unlink("item%d" % k)
    finally: os.close(f); return has

def move(k):                # the same by rename, each to a folder of its own
    os.rename("item%d" % k, "processing/%d/item%d" % (os.getpid(), k))
    return True

def lease(k):               # a lease file that is taken over by who removes the stale one: it belongs to who opened it
    path = "lease%d" % k
    f = os.open(path, os.O_RDONLY)          # read it ...
    stale = json.loads(os.read(f, 999))["expiresAt"] <= 1
    os.close(f)
    if not stale: return False
    os.unlink(path)                         # ... delete what was read ...
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)    # ... and create it anew
    os.write(f, json.dumps({"ownerId": os.getpid(), "expiresAt": 2}).encode()); os.close(f)
    return True

def player(play):
    ask, asked = os.pipe(), os.pipe()
    pid = os.fork()
    if pid: os.close(ask[0]); os.close(asked[1]); return ask[1], asked[0], pid
    session()
    os.close(ask[1])
    if mode == "move": os.makedirs("processing/%d" % os.getpid())
    os.write(asked[1], b"r")
    while True:
        k = os.read(ask[0], 4)
        if not k: os._exit(0)
        try: won = play(int.from_bytes(k, "big"))
        except OSError: won = False
        os.write(asked[1], b"1" if won else b"0")

def stale(k):               # an owner that leaves its claim behind: killed, or for an operator to release
    ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        session()
        f = os.open("item%d" % k, os.O_RDONLY); os.read(f, 9)
        os.write(ready[1], b"r")
        signal.pause()
    os.read(ready[0], 1); os.close(ready[0]); os.close(ready[1])
    return pid

def release(k):
    f = os.open(".airlockfs/command", os.O_RDWR)
    os.write(f, json.dumps({"do": "release", "path": "item%d" % k}).encode()); os.close(f)

play = {"dead": claim, "released": claim, "move": move, "lease": lease}[mode]
players = [player(play) for _ in range(takers)]
for p in players: os.read(p[1], 1)
tally = {}
for k in range(rounds):
    owner = 0
    if mode == "lease": put("lease%d" % k, json.dumps({"ownerId": 0, "expiresAt": 1}).encode())
    else:
        put("item%d" % k, b"work")
        if mode != "move": owner = stale(k)
    if mode == "dead": os.kill(owner, signal.SIGKILL); os.waitpid(owner, 0)
    for p in players: os.write(p[0], k.to_bytes(4, "big"))
    if mode == "released": release(k)
    won = sum(os.read(p[1], 1) == b"1" for p in players)
    if mode == "released":   # who came before the release found nothing: one more try
        if not won:
            for p in players: os.write(p[0], k.to_bytes(4, "big"))
            won = sum(os.read(p[1], 1) == b"1" for p in players)
        os.kill(owner, signal.SIGKILL); os.waitpid(owner, 0)
    tally[min(won, 2)] = tally.get(min(won, 2), 0) + 1
print(tally.get(0, 0), tally.get(1, 0), tally.get(2, 0))
`

// Of 16 who take over what a dead or released owner had, one has it: by open and unlink, by rename, and by the three steps of
// a lease file, read, delete, create, which let two win on other filesystems (TestOnOtherFilesystemsTwoTakeOneLease).
func TestI3_OneOf16TakesOver(t *testing.T) {
	for _, mode := range []string{"dead", "released", "move", "lease"} {
		t.Run(mode, func(t *testing.T) {
			m := mount(t, "--rule", "processing/**=archive")
			m.Must("mkdir processing")
			n := takeOverRounds(t)
			require.Equal(t, fmt.Sprintf("0 %d 0", n), m.Must("python3 -c %s %s %d %d", quote(takeOver), mode, n, takers))
		})
	}
}

// The article's protocol, step by step, on whatever is below: A and B both read the stale lease, A deletes it and creates its
// own, B deletes that and creates its own. On a plain folder both have it. On the mount B's reading claimed nothing, as the lease
// was A's, so B is refused before it can delete anything.
func TestOnOtherFilesystemsTwoTakeOneLease(t *testing.T) {
	steps := func(m *Mount, dir string) (a, b string) {
		one, two := m.Client(), m.Client()
		lease := dir + "/lease"
		m.Must("echo stale > %s", quote(lease))
		play := func(c *Client, calls ...string) string {
			for _, call := range calls {
				if e := c.Call(callWords(call)...); e != "" && e != "stale\n" {
					return e
				}
			}
			return "has it"
		}
		read := []string{"open r " + lease + " r", "read r", "close r"}
		take := []string{"unlink " + lease, "open w " + lease + " wcx", "write w mine", "close w"}
		first, second := play(one, read...), play(two, read...)
		if first == "has it" {
			first = play(one, take...)
		}
		if second == "has it" {
			second = play(two, take...)
		}
		return first, second
	}
	m := mount(t)
	a, b := steps(m, scratch(t))
	require.Equal(t, "has it has it", strings.Join([]string{a, b}, " "), "a plain folder")
	a, b = steps(m, m.Dir)
	require.Equal(t, "has it ENOENT", strings.Join([]string{a, b}, " "), "the mount")
}
