package protocol

import (
	"slices"
	"sort"
)

// heldLocks are granted locks in the order of Start.
//
// INVARIANT: reach[i] is the largest End in locks[:i+1]. It never falls, so the first lock that reaches a byte is found
// by binary search. That is fast as long as no early lock is long; else it is a scan.
// INVARIANT: count[o] is the number of locks of owner o, and has no zeros.
type heldLocks struct {
	locks []Lock
	reach []uint64
	count map[uint64]int

	looked int // how many locks and waiters calls have looked at, ever: what they cost
}

// near gives the window of locks[from:to] outside of which no lock has a byte of [start, end].
func (t *heldLocks) near(start, end uint64) (from, to int) {
	to = sort.Search(len(t.locks), func(i int) bool { return t.locks[i].Start > end })
	from = sort.Search(to, func(i int) bool { return t.reach[i] >= start })
	return from, to
}

// set gives the owner of k its range in its mode. What the owner has there in the other mode is replaced, and what it
// has in the same mode, there or next to it, is merged: as in Linux the first such lock grows, and stays who and when
// it was.
func (t *heldLocks) set(k Lock) {
	k = t.merged(k)
	t.cut(k)
	t.insert(k)
}

func (t *heldLocks) merged(k Lock) Lock {
	start, end, grows := k.Start, k.End, -1
	from, to := t.near(max(k.Start, 1)-1, k.End+1)
	t.looked += to - from
	for i, h := range t.locks[from:to] {
		if !k.replaces(h) || k.Mode != h.Mode || !k.touches(h) {
			continue
		}
		start, end = min(start, h.Start), max(end, h.End)
		if grows < 0 {
			grows = from + i
		}
	}
	if grows >= 0 {
		k = t.locks[grows]
	}
	k.Start, k.End = start, end
	return k
}

// cut takes the range of k away from what its owner holds, which may leave a lock on either side.
func (t *heldLocks) cut(k Lock) {
	from, to := t.near(k.Start, k.End)
	t.looked += to - from
	for from < to && !(k.replaces(t.locks[from]) && t.locks[from].End >= k.Start) {
		from++
	}
	if from == to {
		return
	}
	kept, rest := t.locks[:from], []Lock(nil)
	for _, h := range t.locks[from:to] {
		if !k.replaces(h) || h.End < k.Start {
			kept = append(kept, h)
			continue
		}
		t.tally(h.Owner, -1)
		before, after := h, h
		if before.End = k.Start - 1; h.Start < k.Start {
			t.tally(h.Owner, +1)
			kept = append(kept, before)
		}
		if after.Start = k.End + 1; h.End > k.End {
			t.tally(h.Owner, +1)
			rest = append(rest, after)
		}
	}
	t.locks = slices.Replace(t.locks, len(kept), to, rest...)
	t.reach = slices.Replace(t.reach, len(kept), to, make([]uint64, len(rest))...)
	t.measure(from, len(kept)+len(rest))
}

func (t *heldLocks) insert(k Lock) {
	_, i := t.near(k.Start, k.Start)
	t.locks = slices.Insert(t.locks, i, k)
	t.reach = slices.Insert(t.reach, i, 0)
	t.tally(k.Owner, +1)
	t.measure(i, i+1)
}

func (t *heldLocks) drop(unwanted func(Lock) bool) {
	t.locks = slices.DeleteFunc(t.locks, func(h Lock) bool {
		gone := unwanted(h)
		if gone {
			t.tally(h.Owner, -1)
		}
		return gone
	})
	t.reach = t.reach[:len(t.locks)]
	t.measure(0, len(t.locks))
}

func (t *heldLocks) tally(owner uint64, change int) {
	if t.count == nil {
		t.count = map[uint64]int{}
	}
	if t.count[owner] += change; t.count[owner] == 0 {
		delete(t.count, owner)
	}
}

// measure renews reach from index i on, where the locks before index changed are others than they were.
func (t *heldLocks) measure(i, changed int) {
	for ; i < len(t.locks); i++ {
		t.looked++
		far := t.locks[i].End
		if i > 0 {
			far = max(far, t.reach[i-1])
		}
		if i >= changed && t.reach[i] == far {
			return // and so are all that follow
		}
		t.reach[i] = far
	}
}
