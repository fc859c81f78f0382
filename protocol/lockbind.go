package protocol

import "time"

// Binds tells whether a lock on a file of the class binds strangers: in lock, their truncation, writing and removal; in the
// classes of versions, that another version takes the place of the current one, or that this is taken away.
func (c Class) Binds() bool { return c.named() || c == ClassLock }

// BindsAll is Binds, or that the bytes are bound, as in class records.
func (c Class) BindsAll() bool { return c.Binds() || c == ClassRecords }

// Holding is a lock that binds others: its holder may write what it binds.
type Holding struct {
	Lock
	On      NameKey  // what is locked: the file, or its lock file
	Waits   bool     // it is only waited for
	Holders []*Party // who may act under it, with their kin; the first is who is told of
	// Has tells, where all of Holders have ended, whether somebody has the open file that the lock is on: he has inherited
	// it. nil: one of them lives.
	Has func(*Party) bool
}

// strangers tells whether somebody has no part in the lock. overrides: those of others than root are none for him.
func (h Holding) strangers(who *Party, overrides bool) bool {
	for _, p := range h.Holders {
		if Kin(p, who) || overrides && p.Process.UID != 0 {
			return false
		}
	}
	inherited := h.Has != nil && who != nil && h.Has(who)
	return len(h.Holders) > 0 && !inherited
}

// binds tells whether somebody has no part in the lock, and is bound by it. Root is not by other users' locks, unless he is
// to be.
func (h Holding) binds(w *World, e *Event, who *Party) bool {
	own := e.Handle != 0 && h.Lock.Handle == e.Handle
	return !own && h.strangers(who, who != nil && who.Process.UID == 0 && !w.RootBound)
}

// LockTitle is what a refusal calls a lock on a name.
func LockTitle(on NameKey) string { return "lock on " + on.Name }

// refusal says whose lock a call has met, on what.
func (h Holding) refusal(r Reason, whatNow string) *Refusal {
	return &Refusal{Reason: r, Kind: LockTitle(h.On), By: h.Holders[0].ID, Since: h.Since, WhatNow: whatNow}
}

// strangersLock is the first lock on an item that binds somebody, nil if there is none. own: he has a part in another one.
func (w *World) strangersLock(i *Item, e *Event, who *Party) (met *Holding, own bool) {
	if w.LocksOn == nil || i == nil || !i.Match.Class.Binds() {
		return nil, false
	}
	for _, h := range w.LocksOn(i) {
		switch {
		case h.Waits:
		case !h.binds(w, e, who):
			own = true
		case met == nil:
			met = &h
		}
	}
	return met, own
}

const whatLocked = "wait until the lock is let go: take it first, as its holder did"

// bound refuses what would put another version in the place of an item, or take it away, while a stranger holds a lock on
// it. It answers at once: only who asks for a lock waits for one.
func (w *World) bound(i *Item, e *Event) Decision {
	if h, _ := w.strangersLock(i, e, e.By); h != nil {
		return Decision{Refuse: h.refusal(Busy, whatLocked)}
	}
	return Decision{}
}

// removable refuses to take a name away from a file that a stranger has locked. Of a lock file, also while one only waits:
// he would get the lock on a file that nobody finds any more. The holder may.
func (w *World) removable(i *Item, e *Event) Decision {
	if i == nil || i.State != Public {
		return Decision{}
	}
	met, own := w.strangersLock(i, e, e.By)
	if met == nil && !own && i.Match.Class == ClassLock && w.LocksOn != nil {
		for _, h := range w.LocksOn(i) {
			if h.Waits && h.binds(w, e, e.By) {
				met = &h
				break
			}
		}
	}
	if met != nil {
		return Decision{Refuse: met.refusal(Busy, whatLocked)}
	}
	return Decision{}
}

// write decides about the first write to a version, and about each one to a lock file. That one is for its holders.
func write(w *World, e *Event) Decision {
	i := w.item(e.Item)
	switch {
	case i == nil || i.InClaim:
		return Decision{}
	case !i.Match.Class.InPlace():
		return w.bound(w.File.Public, e)
	}
	if h, own := w.strangersLock(i, e, e.By); h != nil && !own {
		return Decision{Refuse: h.refusal(Busy, whatLocked)}
	}
	return Decision{}
}

// publishable: a stranger has locked the version that a new one is about to replace, while its writer had it open. The
// new one waits for that lock's end. An operator's word counts more.
func (w *World) publishable(f *File, i *Item, e *Event) bool {
	writer := w.PartyOf(i.Owner)
	if writer == nil {
		writer = e.By
	}
	h, _ := w.strangersLock(f.Public, e, writer)
	return h == nil || e.Op == OpOrderPublish
}

// Newest is the version that one which nothing was written to should be made from instead, when its opener is granted a lock
// on the file, or nobody has it open yet; nil if it is made from that already, or there is none.
func Newest(f *File, i *Item) *Item {
	if i.State != Staged || !i.Derived || i.InClaim || i.Taint.Kind != NoTaint || !i.Match.Class.Bound() || i.Name != f.Name {
		return nil
	}
	if f.Public == nil || f.Public.ID == i.Base || f.Public.Match.Class != i.Match.Class {
		return nil
	}
	return f.Public
}

// writesLocked tells whether who writes an unfinished version has locked the file. Then others may open it to change it, too:
// they have to, to ask for the lock.
func (w *World) writesLocked(o *Item) bool {
	writer := w.PartyOf(o.Owner)
	if w.LocksOn == nil || w.File.Public == nil || writer == nil {
		return false
	}
	for _, h := range w.LocksOn(w.File.Public) {
		for _, p := range h.Holders {
			if !h.Waits && Kin(p, writer) {
				return true
			}
		}
	}
	return false
}

// lockedBefore is the version that waits for a lock on the one before it. Whose writer has ended is nobody's.
func lockedBefore(i *Item, e *Event) Effect {
	x := hold(i, BarrierLocked, e.At, time.Time{})
	if e.Op == OpEnded {
		x.Next.Owner = 0
	}
	return x
}
