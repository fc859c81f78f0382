package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Strangers' flock and fcntl locks exclude each other; those of two who are not strangers do not.
func TestLocksOfStrangersSeeEachOther(t *testing.T) {
	family := map[uint64]int{1: 1, 11: 1, 2: 2, 12: 2} // a process's owner ids for POSIX locks, and for its open files
	strangers := func(a, b Lock) bool { return family[a.Owner] != family[b.Owner] }
	for name, c := range map[string]struct {
		held, want, blocker string
	}{
		"flock and POSIX":            {"11 flock write", "2 write 0-9", "11 flock write"},
		"POSIX and flock":            {"2 write 7-7", "11 flock read", "2 write 7-7"},
		"shared ones":                {"11 flock read", "2 read 0-9", ""},
		"a process that takes both":  {"11 flock write", "1 write 0-", ""},
		"in the other order":         {"1 write 0-", "11 flock write", ""},
		"two of a kind, one process": {"1 write 0-9", "11 ofd write 5-5", "1 write 0-9"},
	} {
		t.Run(name, func(t *testing.T) {
			l := Locks{Strangers: strangers}
			mustTake(t, &l, c.held)
			blocker, met := l.Test(asked(t, c.want))
			require.Equal(t, c.blocker != "", met)
			if met {
				assert.Equal(t, c.blocker, told(blocker), "F_GETLK names it")
			}
			_, _, ok := l.Acquire(asked(t, c.want))
			assert.Equal(t, !met, ok)
		})
	}
}

func TestAStrangersLockIsWaitedForInLine(t *testing.T) {
	l := Locks{Strangers: func(a, b Lock) bool { return true }}
	mustTake(t, &l, "1 flock write")
	fcntl, flock := mustWait(t, &l, "2 write 0-9"), mustWait(t, &l, "3 flock read")
	require.Equal(t, []*Waiter{fcntl}, l.Release(asked(t, "1 flock")))
	require.Equal(t, []*Waiter{flock}, l.Release(asked(t, "2 0-9")))
}

// A version takes over the locks of the one whose place it has taken, and those who wait, in the order in which they came.
func TestAdopt(t *testing.T) {
	var l, o Locks
	mustTake(t, &l, "1 write 0-9")
	mustTake(t, &o, "2 write 20-29", "3 read 5-5")
	at := func(line string, n int) Lock {
		k := asked(t, line)
		k.Since = time.Unix(int64(n), 0)
		return k
	}
	second, _ := l.Wait(at("4 write 0-0", 2))
	first, _ := o.Wait(at("5 write 20-20", 1))
	require.Empty(t, l.Adopt(&o))
	assert.Equal(t, "1 write 0-9, 3 read 5-5, 2 write 20-29", toldAll(l.Held()), "what was granted stays")
	assert.Equal(t, []*Waiter{first, second}, l.Waiters())
	assert.True(t, o.Empty())
	assert.Equal(t, []*Waiter{first}, l.Release(asked(t, "2 20-29")))
	assert.Equal(t, []*Waiter{second}, l.Release(asked(t, "1 0-9")))

	var free, waiting Locks
	mustTake(t, &waiting, "1 flock write")
	w := mustWait(t, &waiting, "2 flock write")
	waiting.held.drop(func(Lock) bool { return true })
	assert.Equal(t, []*Waiter{w}, free.Adopt(&waiting), "who can be let through is")
}
