package protocol

import "slices"

// Locks are the locks of one inode and the requests that wait for one. The zero value is empty and ready. It is not
// safe for concurrent use; whoever calls it guards it.
//
// Locks are granted, converted, split, merged and released as fcntl_locking(2) and flock(2) define it for Linux. What
// Linux leaves open is who comes next. Here it is whoever asked first: a request is granted when nothing that conflicts
// with it is held, and no conflicting request that waits came before. So a waiter waits for those that hold a lock when
// it asks and for those that wait already, and no reader that comes later is let in before it. There are two
// exceptions, without which standing in line could be a deadlock that Linux does not have: an owner that holds what
// somebody here waits for may take more without standing in line, and so may a request that is Ahead.
//
// Every method that can let waiters through returns them, in the order in which they were granted.
//
// 10,000 held locks and 1,000 waiters are fine: to hand a lock over then takes some hundred microseconds, and a few
// milliseconds if it is on the whole file; if nobody waits a call takes what it does on an empty list, or twenty
// microseconds in the middle (BenchmarkCurve). lockcost_test.go counts what calls look at.
type Locks struct {
	held  heldLocks
	queue []*Waiter // first come, first

	// Strangers tells whether a flock and an fcntl lock are of two who have nothing to do with each other: then they
	// conflict as two of a kind do. nil: they do not see each other, as on a local filesystem.
	Strangers func(a, b Lock) bool
}

// Test answers F_GETLK: the first held lock, by Start, that keeps want from being granted.
func (l *Locks) Test(want Lock) (Lock, bool) {
	for k := range l.inTheWay(want, nil) {
		return k, true
	}
	return Lock{}, false
}

// Acquire takes a lock without waiting: F_SETLK, or flock with LOCK_NB. If ok is false it is not granted, and blocker
// is what is in the way: a held lock, or a request that waits already. To wait, call Wait next.
//
// A POSIX or OFD request that is not granted changes nothing. A flock conversion from shared to exclusive that is not
// granted has lost the shared lock, because flock(2) releases it first. A downgrade lets waiters through.
func (l *Locks) Acquire(want Lock) (blocker Lock, granted []*Waiter, ok bool) {
	for blocker = range l.inTheWay(want, l.queue) {
		if want.Kind == Flock {
			granted = l.Release(want)
		}
		return blocker, granted, false
	}
	l.held.set(want)
	return Lock{}, l.grant(), true
}

// Release gives a range up: F_UNLCK, LOCK_UN. It splits a lock that is longer than the range; holes in the range are no
// error. Of what, only Kind, Owner, Start and End count.
func (l *Locks) Release(what Lock) []*Waiter {
	l.held.cut(what)
	return l.grant()
}

// CloseOwner drops the POSIX locks of an owner, through whichever open file it took them: fcntl_locking(2) releases
// them as soon as the process closes any descriptor of the file. That is every FLUSH, with the lock_owner it carries;
// most have no lock here. Requests that wait go on waiting: the kernel itself unlocks what a closed descriptor gets.
func (l *Locks) CloseOwner(owner uint64) []*Waiter {
	return l.drop(func(k Lock) bool { return k.Owner == owner && k.Kind != Flock })
}

// CloseHandle drops every lock that was taken through an open file. That is RELEASE, when the last duplicate of the
// descriptor is closed, in whichever process: nothing else tells of the end of an OFD lock. No request can still wait
// through this open file, since a system call keeps its file open.
func (l *Locks) CloseHandle(handle uint64) []*Waiter {
	return l.drop(func(k Lock) bool { return k.Handle == handle })
}

// OfOwner are the locks that CloseOwner drops.
func (l *Locks) OfOwner(owner uint64) []Lock {
	if l.held.count[owner] == 0 {
		return nil
	}
	return slices.DeleteFunc(l.Held(), func(k Lock) bool { return k.Owner != owner || k.Kind == Flock })
}

func (l *Locks) drop(unwanted func(Lock) bool) []*Waiter {
	if !slices.ContainsFunc(l.held.locks, unwanted) {
		return nil
	}
	l.held.drop(unwanted)
	return l.grant()
}

// Held is a copy of the granted locks, by Start.
func (l *Locks) Held() []Lock { return slices.Clone(l.held.locks) }

// Count is how many locks are granted.
func (l *Locks) Count() int { return len(l.held.locks) }

// Empty tells whether nobody holds a lock or waits for one, so that the list may be forgotten.
func (l *Locks) Empty() bool { return len(l.held.locks) == 0 && len(l.queue) == 0 }

// Adopt takes over all locks and waiters of another list, of a version that has taken this one's place. Held locks that
// conflict stay held: they were granted when they did not see each other.
func (l *Locks) Adopt(o *Locks) []*Waiter {
	for _, k := range o.held.locks {
		l.held.set(k)
	}
	l.queue = append(l.queue, o.queue...)
	slices.SortStableFunc(l.queue, func(a, b *Waiter) int { return a.Since.Compare(b.Since) })
	*o = Locks{Strangers: o.Strangers}
	return l.grant()
}

// Within are the granted locks that have a byte of a range, by Start.
func (l *Locks) Within(start, end uint64) []Lock {
	from, to := l.held.near(start, end)
	var all []Lock
	for _, h := range l.held.locks[from:to] {
		if h.End >= start {
			all = append(all, h)
		}
	}
	return all
}
