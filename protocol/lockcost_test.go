package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// looks is how many locks and waiters a call looks at: what it costs, on any machine.
func looks(l *Locks, call func()) int {
	before := l.held.looked
	call()
	return l.held.looked - before
}

// crowd is a list in which n hold a byte each, and w wait for one lock that one more owner holds.
func crowd(n, w int, k Lock) *Locks {
	l := recordLocks(n)
	l.Acquire(k)
	for i := range w {
		next := k
		next.Owner += uint64(i) + 1
		l.Wait(next)
	}
	return l
}

var (
	farRecord  = record(100_000)
	wholeFlock = Lock{Kind: Flock, Mode: WriteLock, Owner: 100_001, End: ToEOF}
)

// TestCostOfManyLocks: what a call looks at does not grow with the locks elsewhere in the file, if nobody waits.
func TestCostOfManyLocks(t *testing.T) {
	for _, n := range []int{100, 1_000, 10_000} {
		l := recordLocks(n)
		k := record(uint64(n / 2))
		k.Start, k.End = k.Start+1, k.End+1
		assert.LessOrEqual(t, looks(l, func() { l.Acquire(k) }), 10, "lock, %d held", n)
		assert.LessOrEqual(t, looks(l, func() { l.Test(record(uint64(n / 2))) }), 10, "test, %d held", n)
		assert.LessOrEqual(t, looks(l, func() { l.Release(k) }), 10, "release, %d held", n)
		assert.LessOrEqual(t, looks(l, func() { l.MayUse(Use{Write: true, Start: k.Start, End: k.Start}, somebody) }), 10, "use, %d held", n)
		require.Equal(t, n, l.Count())
	}
}

// TestCostOfManyWaiters: to hand a lock over costs a look or a few at each who waits, and at each lock in its range.
func TestCostOfManyWaiters(t *testing.T) {
	for _, k := range []Lock{farRecord, wholeFlock} {
		for _, w := range []int{10, 100, 1_000} {
			for _, n := range []int{0, 1_000, 10_000} {
				l := crowd(n, w, k)
				most := 8*w + 10
				if k.Kind == Flock {
					most += 8 * n
				}
				cost := looks(l, func() { require.Len(t, l.Release(k), 1) })
				assert.LessOrEqual(t, cost, most, "%s handed over, %d held, %d waiting", k.Kind, n, w)
				next := k
				next.Owner += uint64(w) + 1
				assert.LessOrEqual(t, looks(l, func() { l.Wait(next) }), most, "%s waited for, %d held, %d waiting", k.Kind, n, w)
			}
		}
	}
}

// TestALineIsAsLongAsItIs: a writer waits for those that hold a lock when it asks and for those that wait already, however
// many readers come after it.
func TestALineIsAsLongAsItIs(t *testing.T) {
	var l Locks
	reader := Lock{Kind: Posix, End: ToEOF}
	for reader.Owner = range uint64(100) {
		l.Acquire(reader)
	}
	writer := Lock{Kind: Posix, Mode: WriteLock, Owner: 1_000, End: ToEOF}
	_, _, ok := l.Acquire(writer)
	require.False(t, ok)
	w, _ := l.Wait(writer)
	for i := range uint64(300) {
		late := reader
		late.Owner = 2_000 + i
		_, _, ok := l.Acquire(late)
		require.False(t, ok, "who comes later does not overtake")
		l.Wait(late)
	}
	for i := range uint64(100) {
		require.False(t, w.Granted)
		l.CloseOwner(i)
	}
	require.True(t, w.Granted, "the last of those before it has gone")
	require.Len(t, l.Release(writer), 300)
}

// BenchmarkCurve is what an operation costs by how many locks are held and waited for: lock and release where nobody waits,
// and a lock handed over to the next of those who wait, who lines up again.
func BenchmarkCurve(b *testing.B) {
	for _, n := range []int{0, 10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("free/held=%d", n), func(b *testing.B) {
			l := recordLocks(n)
			for b.Loop() {
				l.Acquire(farRecord)
				l.Release(farRecord)
			}
		})
	}
	for kind, k := range map[string]Lock{"record": farRecord, "flock": wholeFlock} {
		for _, w := range []int{1, 10, 100, 1_000} {
			for _, n := range []int{0, 10_000} {
				b.Run(fmt.Sprintf("handover/%s/held=%d/waiting=%d", kind, n, w), func(b *testing.B) {
					l, holder := crowd(n, w, k), k
					for b.Loop() {
						next := holder
						holder = l.Release(holder)[0].Lock
						next.Owner += uint64(w) + 1
						l.Wait(next)
					}
				})
			}
		}
	}
}
