package protocol

import "strings"

// LockFileOf is the name of the lock file that binds a name: programs that lock X lock X.lock.
func LockFileOf(n NameKey) NameKey { return NameKey{Folder: n.Folder, Name: n.Name + lockFileSuffix} }

// LockedBy is the name that a lock file of this name binds, if it is one.
func LockedBy(n NameKey) (NameKey, bool) {
	of, is := strings.CutSuffix(n.Name, lockFileSuffix)
	return NameKey{Folder: n.Folder, Name: of}, is
}

const lockFileSuffix = ".lock"

// Bound tells whether a lock file binds files of the class.
func (c Class) Bound() bool { return c.named() }

// approach: who opens X while a stranger holds X.lock did not lock, so it is made to. An exclusive lock stops all who open
// X, a shared one stops those who would write it. Who has X open already keeps what it has.
func approach(w *World, e *Event) Decision {
	f := w.File
	if !f.Match.Class.Bound() {
		return Decision{}
	}
	for _, h := range f.Bound {
		if (h.Mode == WriteLock || e.Open.Write) && h.binds(w, e, e.By) {
			on := LockFileOf(f.Name)
			r := h.refusal(Busy, "lock "+on.Name+" before you open it, or wait until that is let go")
			if r.On = on; e.Open.NonBlock {
				r.Reason, r.On = WouldWait, NameKey{}
			}
			return Decision{Refuse: r}
		}
	}
	return askTurn(w, e)
}
