package protocol

import "slices"

// BlockedBy are the owners that the POSIX requests of an owner wait for here, held locks and earlier waiters alike. An
// owner comes once for each lock.
func (l *Locks) BlockedBy(owner uint64) (owners []uint64) {
	for i, w := range l.queue {
		if w.Owner != owner || w.Kind != Posix {
			continue
		}
		for k := range l.inTheWay(w.Lock, l.queue[:i]) {
			owners = append(owners, k.Owner)
		}
	}
	return owners
}

// Entries is how many locks an owner holds here and waits for. Who has one entry in all files together can't be part of a
// cycle, and that is most.
func (l *Locks) Entries(owner uint64) int {
	n := l.held.count[owner]
	for _, w := range l.queue {
		if w.Owner == owner {
			n++
		}
	}
	return n
}

// Deadlock tells whether a POSIX request, which waits already, waits for its own owner in the end: then Cancel it and
// answer EDEADLK (fcntl_locking(2)). blockedBy gives the owners that an owner waits for: BlockedBy of all inodes
// together. As in Linux a flock or OFD request is never a deadlock, nor is a cycle that one of them is part of: no
// process owns it.
func Deadlock(w Lock, blockedBy func(owner uint64) []uint64) bool {
	if w.Kind != Posix {
		return false
	}
	seen := map[uint64]bool{}
	ask := slices.Clone(blockedBy(w.Owner))
	for len(ask) > 0 {
		owner := ask[len(ask)-1]
		ask = ask[:len(ask)-1]
		if owner == w.Owner {
			return true
		}
		if !seen[owner] {
			seen[owner] = true
			ask = append(ask, blockedBy(owner)...)
		}
	}
	return false
}
