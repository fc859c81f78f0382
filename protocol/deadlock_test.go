package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blockedIn looks through the lists of several inodes.
func blockedIn(lists ...*Locks) func(uint64) []uint64 {
	return func(owner uint64) (owners []uint64) {
		for _, l := range lists {
			owners = append(owners, l.BlockedBy(owner)...)
		}
		return owners
	}
}

func TestDeadlock(t *testing.T) {
	for name, c := range map[string]struct {
		a, b         []string // held in file a, in file b
		waitA, waitB []string // then they wait: first those in a, then those in b, the last closes the cycle or not
		want         bool
	}{
		"two processes, one file":      {a: []string{"1 write 0-0", "2 write 1-1"}, waitA: []string{"1 write 1-1", "2 write 0-0"}, want: true},
		"two processes, two files":     {a: []string{"1 write 0-"}, b: []string{"2 write 0-"}, waitA: []string{"2 read 0-"}, waitB: []string{"1 write 0-"}, want: true},
		"three in a ring":              {a: []string{"1 write 0-0", "2 write 1-1", "3 write 2-2"}, waitA: []string{"1 write 1-1", "2 write 2-2", "3 write 0-0"}, want: true},
		"a chain without a cycle":      {a: []string{"1 write 0-0", "2 write 1-1"}, waitA: []string{"2 write 0-0", "3 write 1-1"}},
		"both upgrade":                 {a: []string{"1 read 0-9", "2 read 0-9"}, waitA: []string{"1 write 0-9", "2 write 0-9"}, want: true},
		"the second of two in the way": {a: []string{"3 read 0-0", "1 read 5-5", "2 write 9-9"}, waitA: []string{"2 write 0-5", "1 write 9-9"}, want: true},
		"an OFD request is never one":  {a: []string{"1 ofd write 0-0", "2 write 1-1"}, waitA: []string{"2 write 0-0", "1 ofd write 1-1"}},
		"nor is a cycle through OFD":   {a: []string{"1 ofd write 0-0", "2 write 1-1"}, waitA: []string{"1 ofd write 1-1", "2 write 0-0"}},
		"nor is a flock":               {a: []string{"1 flock write"}, b: []string{"2 flock write"}, waitA: []string{"2 flock write"}, waitB: []string{"1 flock write"}},
		"a cycle of others":            {a: []string{"1 write 0-0", "2 write 1-1"}, waitA: []string{"1 write 1-1", "2 write 0-0", "3 read 0-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b Locks
			mustTake(t, &a, c.a...)
			mustTake(t, &b, c.b...)
			var last *Waiter
			for _, line := range c.waitA {
				last = mustWait(t, &a, line)
			}
			for _, line := range c.waitB {
				last = mustWait(t, &b, line)
			}
			assert.Equal(t, c.want, Deadlock(last.Lock, blockedIn(&a, &b)))
		})
	}
}

// After EDEADLK the request is gone, and the others go on.
func TestDeadlockThenCancel(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 write 0-0", "2 write 1-1")
	first := mustWait(t, &l, "1 write 1-1")
	require.False(t, Deadlock(first.Lock, l.BlockedBy))
	second := mustWait(t, &l, "2 write 0-0")
	require.True(t, Deadlock(second.Lock, l.BlockedBy))
	assert.Empty(t, l.Cancel(second))
	assert.False(t, Deadlock(first.Lock, l.BlockedBy))
	assert.Equal(t, []*Waiter{first}, l.CloseOwner(2))
}

// Against Warshall's transitive closure on random graphs.
func TestDeadlockIsReachability(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		const n = 8
		var edges [n][]uint64
		var reach [n][n]bool
		for range r.IntN(2 * n) {
			from, to := r.IntN(n), r.IntN(n)
			edges[from] = append(edges[from], uint64(to))
			reach[from][to] = true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		for i := range n {
			w := Lock{Kind: Posix, Owner: uint64(i)}
			assert.Equal(t, reach[i][i], Deadlock(w, func(o uint64) []uint64 { return edges[o] }), "owner %d in %v", i, edges)
		}
	}
}
