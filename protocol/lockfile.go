package protocol

// LockFileOf is the name of the lock file that binds a name: programs that lock X lock X.lock.
func LockFileOf(n NameKey) NameKey { return NameKey{Folder: n.Folder, Name: n.Name + ".lock"} }

// Bound tells whether a lock file binds files of the class.
func (c Class) Bound() bool { return c.named() }

// Holding is a lock that binds others: its holder may write what it binds.
type Holding struct {
	Lock
	Holders []*Party // who may act under it, with their kin; the first is who is told of
}

// strangers tells whether the caller has no part in the lock, and is bound by it.
func (h Holding) strangers(e *Event) bool {
	for _, p := range h.Holders {
		if Kin(p, e.By) || e.Overrides && p.Process.UID != 0 {
			return false
		}
	}
	return len(h.Holders) > 0
}

// refusal says whose lock a call has met, on which name.
func (h Holding) refusal(r Reason, on NameKey, whatNow string) *Refusal {
	return &Refusal{Reason: r, Kind: "lock on " + on.Name, By: h.Holders[0].ID, Since: h.Since, WhatNow: whatNow}
}

// approach: who opens X while a stranger holds X.lock did not lock, so it is made to. An exclusive lock stops all who open
// X, a shared one stops those who would write it. Who has X open already keeps what it has.
func approach(w *World, e *Event) Decision {
	f := w.File
	if !f.Match.Class.Bound() {
		return Decision{}
	}
	for _, h := range f.Bound {
		if (h.Mode == WriteLock || e.Open.Write) && h.strangers(e) {
			on := LockFileOf(f.Name)
			r := h.refusal(Busy, on, "lock "+on.Name+" before you open it, or wait until that is let go")
			if r.On = on; e.Open.NonBlock {
				r.Reason, r.On = WouldWait, NameKey{}
			}
			return Decision{Refuse: r}
		}
	}
	return Decision{}
}
