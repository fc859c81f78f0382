package protocol

import (
	"iter"
	"slices"
)

// Waiter is a request that waits for its lock: F_SETLKW, F_OFD_SETLKW, or flock without LOCK_NB.
type Waiter struct {
	Lock
	Granted bool // it has its lock, and waits no more
}

// Wait queues a request that Acquire has just refused. Somebody may get through even so: an owner that stood in line
// and now is waited for itself.
func (l *Locks) Wait(want Lock) (*Waiter, []*Waiter) {
	w := &Waiter{Lock: want}
	l.queue = append(l.queue, w)
	return w, l.grant()
}

// Cancel ends a wait: the caller was interrupted. If the lock was granted meanwhile nothing changes: it is held, and the
// answer to the caller is success.
func (l *Locks) Cancel(w *Waiter) []*Waiter {
	i := slices.Index(l.queue, w)
	if i < 0 {
		return nil
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	return l.grant()
}

// Waiters is a copy of the queue, first come first.
func (l *Locks) Waiters() []*Waiter { return slices.Clone(l.queue) }

// Blocker is the first of what a waiter waits for: a held lock by Start, else an earlier waiter. False: it waits for
// nothing, because it was granted or cancelled.
func (l *Locks) Blocker(w *Waiter) (Lock, bool) {
	if i := slices.Index(l.queue, w); i >= 0 {
		for k := range l.inTheWay(w.Lock, l.queue[:i]) {
			return k, true
		}
	}
	return Lock{}, false
}

// inTheWay yields what keeps want from being granted: held locks by Start, then the earlier waiters whose turn it is.
func (l *Locks) inTheWay(want Lock, earlier []*Waiter) iter.Seq[Lock] {
	return func(yield func(Lock) bool) {
		from, to := l.held.near(want.Start, want.End)
		for i := from; i < to; i++ {
			if l.conflict(l.held.locks[i], want) && !yield(l.held.locks[i]) {
				return
			}
		}
		for _, w := range l.before(want, earlier) {
			if l.conflict(w.Lock, want) && !yield(w.Lock) {
				return
			}
		}
	}
}

// before are the earlier waiters from the first one on that want must wait its turn behind.
func (l *Locks) before(want Lock, earlier []*Waiter) []*Waiter {
	first := slices.IndexFunc(earlier, func(w *Waiter) bool { return l.conflict(w.Lock, want) })
	if first < 0 || want.Ahead || l.waitedFor(want.Owner) {
		return nil
	}
	return earlier[first:]
}

// waitedFor tells whether the owner holds a lock that somebody here waits for.
func (l *Locks) waitedFor(owner uint64) bool {
	if l.held.count[owner] == 0 {
		return false
	}
	l.held.looked += len(l.held.locks)
	for i := range l.held.locks {
		h := &l.held.locks[i]
		if h.Owner == owner && slices.ContainsFunc(l.queue, func(w *Waiter) bool { return l.conflict(*h, w.Lock) }) {
			return true
		}
	}
	return false
}

// grant lets through the first waiter that nothing is in the way of, until there is none. It starts from the front
// each time: a granted request can be a downgrade, which clears the way for somebody before it.
func (l *Locks) grant() (granted []*Waiter) {
	for {
		i := l.next()
		if i < 0 {
			return granted
		}
		w := l.queue[i]
		l.queue = slices.Delete(l.queue, i, i+1)
		l.held.set(w.Lock)
		w.Granted = true
		granted = append(granted, w)
	}
}

// next is the index of the first waiter that can be granted, or -1.
func (l *Locks) next() int {
	for i, w := range l.queue {
		if !l.blocked(w.Lock, l.queue[:i]) {
			return i
		}
	}
	return -1
}

// blocked tells whether anything is in the way. Of the locks to look at and the waiters to look at it takes the fewer
// first: either can be thousands.
func (l *Locks) blocked(want Lock, earlier []*Waiter) bool {
	from, to := l.held.near(want.Start, want.End)
	if to-from > len(earlier) && len(l.before(want, earlier)) > 0 {
		return true
	}
	for range l.inTheWay(want, earlier) {
		return true
	}
	return false
}
