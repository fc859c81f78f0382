package tests

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walkBytes is the size of the file that the walk is on.
const walkBytes = 48

// recordWalk has three strangers lock, read and write at random, and knows what must come of it: of each byte what it is, and
// who has locked it. Each of them is two owners of locks, the process (even) and its open file (odd).
type recordWalk struct {
	t       *testing.T
	clients []*Client
	held    [walkBytes][6]byte // 'r', 'w' or 0
	content [walkBytes]byte
}

var walkKinds = []string{"posix", "ofd"}

// locked tells whether a lock could not be granted.
func (w *recordWalk) locked(owner, from, to int, how byte) bool {
	for i := from; i < to; i++ {
		for other, letter := range w.held[i] {
			if other != owner && (letter == 'w' || letter == 'r' && how == 'w') {
				return true
			}
		}
	}
	return false
}

// bound tells whether one may not use the bytes because another one has locked them.
func (w *recordWalk) bound(who, from, to int, writes bool) bool {
	for i := from; i < to; i++ {
		for other, letter := range w.held[i] {
			if other/2 != who && (letter == 'w' || letter == 'r' && writes) {
				return true
			}
		}
	}
	return false
}

func (w *recordWalk) lock(owner, from, to int, how byte) {
	want := ""
	if how != 'u' && w.locked(owner, from, to, how) {
		want = "EAGAIN"
	}
	said := w.clients[owner/2].Call("lock", "f", walkKinds[owner%2], string(how), from, to-from)
	require.Equal(w.t, want, said, "%d locks %d to %d: %c\n%v", owner, from, to, how, w.held)
	for i := from; i < to && want == ""; i++ {
		if w.held[i][owner] = how; how == 'u' {
			w.held[i][owner] = 0
		}
	}
}

func (w *recordWalk) use(who, from, to int, write bool, letter byte) {
	want, said := string(w.content[from:to]), ""
	if write {
		want, said = "", w.clients[who].Call("pwrite", "f", from, strings.Repeat(string(letter), to-from))
	} else {
		said = w.clients[who].Call("pread", "f", from, to-from)
	}
	if w.bound(who, from, to, write) {
		want = "EBUSY"
	}
	require.Equal(w.t, want, said, "%d uses %d to %d, writing: %t\n%v", who, from, to, write, w.held)
	for i := from; i < to && write && want == ""; i++ {
		w.content[i] = letter
	}
}

// TestI3_AWalkOverRecords goes on where the walk in package protocol ends: with the kernel's owners of locks, real files and
// processes.
func TestI3_AWalkOverRecords(t *testing.T) {
	m := recordMount(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	m.Must("truncate -s %d r/walk", walkBytes)
	w := &recordWalk{t: t}
	for range 3 {
		c := m.Client()
		c.OK("open f r/walk rw")
		w.clients = append(w.clients, c)
	}
	for range 600 {
		from := r.IntN(walkBytes)
		to := min(from+1+r.IntN(12), walkBytes)
		switch n := r.IntN(10); {
		case n < 2:
			w.lock(r.IntN(6), from, to, 'w')
		case n < 4:
			w.lock(r.IntN(6), from, to, 'r')
		case n < 6:
			w.lock(r.IntN(6), from, min(from+24, walkBytes), 'u')
		default:
			w.use(r.IntN(3), from, to, n < 8, byte('a'+r.IntN(26)))
		}
	}
}

func TestI3_RecordsBindRootIfHeIsToBe(t *testing.T) {
	m := mount(t, "--rule", "r/**=records", "--root-override=false")
	m.Must("mkdir r; echo x > r/f; chown -R 1001 r")
	holder := m.StartAs(1001, `exec python3 -c 'import fcntl; f = open("r/f", "r+"); fcntl.lockf(f, fcntl.LOCK_EX); input()'`)
	m.untilLocks(1, 0)
	require.NotZero(t, m.Run("cat r/f").Code)
	require.NotZero(t, m.Run("echo y >> r/f").Code)
	holder.Kill()
	require.Equal(t, "x", m.Must("cat r/f"))
}
