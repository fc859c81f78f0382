package protocol

import "fmt"

// open decides about opening an item that the caller has looked up.
func open(w *World, e *Event) Decision {
	i := w.item(e.Item)
	switch {
	case i == nil || i.State == Gone || i.State == Quarantined:
		return refuse(Stale)
	case i.State == Public && i.Match.Vector.Class.InPlace():
		return grant(i, AccessInPlace)
	case e.Open.Write:
		return openWrite(w, i, e)
	default:
		return openRead(w, i, e)
	}
}

func openRead(w *World, i *Item, e *Event) Decision {
	switch i.State {
	case Public:
		if e.Observer || !i.Match.Class.Claimed() {
			return grant(i, AccessView)
		}
		return grant(i, AccessClaim, claim(i, e, i.Name, i.Match, i.Name))
	case Claimed:
		if w.kin(i, e.By) {
			return grant(i, AccessClaim)
		}
		if e.SeesClaimed {
			return grant(i, AccessView)
		}
		return met(NotYours, i, "wait until it is settled or given back")
	case Staged, Held:
		if w.kin(i, e.By) {
			return grant(i, AccessView)
		}
		return met(NotFound, i, "")
	}
	switch {
	case !adoptable(i, e.By):
		return met(NotFound, i, "")
	case i.State == Parked && !e.Observer:
		return grant(i, AccessView, adopt(i, e)) // programs read what they resume (aria2, rsync)
	}
	return met(Busy, i, "rename it or open it for writing to make it yours")
}

func openWrite(w *World, i *Item, e *Event) Decision {
	switch i.State {
	case Public:
		return openPublicWrite(w, i, e)
	case Claimed:
		if !w.kin(i, e.By) {
			return deliverAnew(w, i, e)
		}
		if own := begun(w, i, e); own != nil {
			return Decision{Item: own.ID, Access: AccessRedirect}
		}
		return newVersion(i, e, true)
	case Staged, Held:
		if !w.kin(i, e.By) {
			return met(NotFound, i, "")
		}
		return rewrite(i, e)
	}
	if !adoptable(i, e.By) {
		return met(NotFound, i, "")
	}
	if i.State == Abandoned && e.Open.Truncate {
		return newVersion(i, e, false)
	}
	return grant(i, AccessWrite, adopt(i, e))
}

// openPublicWrite: with O_TRUNC the caller begins a new version; with O_RDWR it claims and writes within its claim; else
// the new version starts as a copy of this one, at the first write.
func openPublicWrite(w *World, i *Item, e *Event) Decision {
	if w.former(w.File, i, e.By) {
		return overtaken(i)
	}
	if o := otherWriter(w, w.File, e); o != nil && (e.Open.Truncate || !w.writesLocked(o)) {
		return underPen(o)
	}
	switch {
	case (e.Open.Truncate || e.Open.Resize) && w.File.Stale(e.Job):
		return outdated(w.File)
	case e.Open.Truncate && i.Match.OnCollision == CollideRefuse:
		return refuse(Exists)
	case e.Open.Truncate && w.bound(i, e).Refuse != nil:
		return w.bound(i, e)
	case e.Open.Truncate:
		return newVersion(i, e, false)
	}
	if own := begun(w, i, e); own != nil {
		return Decision{Item: own.ID, Access: AccessRedirect}
	}
	if !e.Open.Read || !i.Match.Class.Claimed() {
		return newVersion(i, e, false)
	}
	if e.Observer {
		return met(Busy, i, "open it for reading, or with O_TRUNC")
	}
	c := claim(i, e, i.Name, i.Match, i.Name)
	claimed := c.Next
	d := newVersion(&claimed, e, true)
	d.Effects = append([]Effect{c}, d.Effects...)
	return d
}

// deliverAnew: who may look at what others have claimed (its publisher, an observer) and opens it to write does as one
// who does not see it.
func deliverAnew(w *World, i *Item, e *Event) Decision {
	if w.File.Public != nil {
		return refuse(Stale)
	}
	if d := finalNameTaken(w, w.File, e); d.Refuse != nil {
		return d
	}
	return newVersion(i, e, false)
}

// begun is the version of i that the caller's kin have open for writing, if the open can join them. O_TRUNC does not
// join one that has no bytes of its own yet: it would go on reading as i.
func begun(w *World, i *Item, e *Event) *Item {
	return newest(w.File, func(o *Item) bool {
		return o.State == Staged && o.Base == i.ID && o.Taint.Kind == NoTaint && w.kin(o, e.By) && !(o.Derived && e.Open.Truncate)
	})
}

// newVersion makes an item beside i under i's name. The caller is redirected to it: i's own inode, pages and
// attributes stay what they are for everybody else.
func newVersion(i *Item, e *Event, inClaim bool) Decision {
	next := fresh(e, i.Name, i.Match)
	next.InClaim = inClaim
	if inClaim || !e.Open.Truncate {
		next.Base = i.ID
	}
	next.Derived = !e.Open.Truncate
	return Decision{Item: next.ID, Access: AccessRedirect, Effects: []Effect{{Kind: Make, Next: next}}}
}

// rewrite opens an unfinished item of the caller's own again. If it was waiting, it is unfinished again.
func rewrite(i *Item, e *Event) Decision {
	if i.State == Staged && i.Barrier == BarrierClose {
		return grant(i, AccessWrite)
	}
	next := *i
	next.State, next.Barrier, next.Owner, next.UID = Staged, BarrierClose, e.By.ID, e.By.Process.UID
	next.Taint = reopened(i.Taint, e)
	return grant(i, AccessWrite, Effect{Kind: Move, Next: next})
}

// reopened is what is left of a taint once the item is written again: bytes that were lost are still missing, unless it
// is begun anew.
func reopened(t Taint, e *Event) Taint {
	if t.Kind == TaintWrite && !e.Open.Truncate {
		return t
	}
	return Taint{}
}

// adopt makes the caller the owner of a parked or resumable item.
func adopt(i *Item, e *Event) Effect {
	next := *i
	next.State, next.Owner, next.UID, next.Since, next.Taint = Staged, e.By.ID, e.By.Process.UID, e.At, reopened(i.Taint, e)
	next.Barrier = BarrierTemp
	if e.Op == OpOpen && e.Open.Write {
		next.Barrier = BarrierClose
	}
	return Effect{Kind: Move, Next: next}
}

// claim makes the caller the one owner of a public item, under a name (its own, or the one it is moved to).
func claim(i *Item, e *Event, n NameKey, m Match, home NameKey) Effect {
	next := *i
	next.State, next.Owner, next.UID, next.Since = Claimed, e.By.ID, e.By.Process.UID, e.At
	next.Name, next.Match, next.Home, next.Readers, next.Ending = n, m, home, 0, Verdict{}
	next.Uncounted, next.Token = e.Uncounted, e.Token
	if i.State != Claimed {
		next.Opener, next.OpenerName = e.By.ID, fmt.Sprintf("pid %d (%s)", e.By.Process.PID, e.By.Program)
	}
	next.Barrier, next.Taint, next.Base, next.Ghost = NoBarrier, Taint{}, 0, false
	return Effect{Kind: Move, Next: next}
}

// fresh is an empty item of the caller's.
func fresh(e *Event, n NameKey, m Match) Item {
	return Item{ID: e.Make, Name: n, State: Staged, Match: m, Owner: e.By.ID, UID: e.By.Process.UID, Since: e.At, Barrier: BarrierClose, Begun: true, Empty: true, Links: 1}
}

// taken: the name will mean this item once it is complete, which an exclusive creation must not overlook. One that was
// only opened, and one written inside a claim, deliver nothing under the name.
func taken(i *Item) bool {
	return i.State == Held || i.State == Staged && !i.Temp() && !i.InClaim && !i.Derived
}

// underway: nobody else delivers under the name meanwhile, or the later delivery would be replaced by the earlier one.
// Under publish=rename names are as private as temp names. What waits for a lock's end waits for its holder's deliveries.
func underway(i *Item) bool {
	waits := i.Barrier == BarrierOlder || i.Barrier == BarrierRename || i.Barrier == BarrierLocked
	return taken(i) && !(i.State == Held && waits)
}

// otherWriter finds a stranger's unfinished item of a final name.
func otherWriter(w *World, f *File, e *Event) *Item {
	return newest(f, func(i *Item) bool { return underway(i) && !w.kin(i, e.By) })
}

// create decides about O_CREAT on a name that the caller did not see.
func create(w *World, e *Event) Decision {
	f := w.File
	look := *e
	look.SeesClaimed = false // an observer that creates a name does not mean what others have claimed
	if Visible(w, f, &look) != nil {
		return createOnSeen(e)
	}
	if d := approach(w, e); d.Refuse != nil {
		d.Refuse.On = NameKey{} // the kernel keeps everybody out of the folder meanwhile, also who would let go
		return d
	}
	m := f.Match.Created(e.Open.Creation())
	if m.Temp != TempByName && f.Match.Temp != TempByName {
		if d := finalNameTaken(w, f, e); d.Refuse != nil || d.Access != AccessNone {
			return d
		}
	}
	next := fresh(e, f.Name, m)
	if m.Vector.Class.InPlace() {
		next.State, next.Owner, next.Barrier, next.Ghost = Public, 0, NoBarrier, m.Ghost
		return grant(&next, AccessInPlace, Effect{Kind: Make, Next: next})
	}
	return grant(&next, AccessWrite, Effect{Kind: Make, Next: next})
}

// underPen: somebody else writes the name. What is made from the version before would come too late after his.
func underPen(o *Item) Decision {
	if o.Match.Class.Versioned() {
		return met(Busy, o, "wait until it is current, then read the file again and write it anew")
	}
	return met(Busy, o, "wait until it is published, or write under a temp name and rename")
}

// createOnSeen: somebody was faster. The kernel has checked no right on what is there now, so it is to look again.
func createOnSeen(e *Event) Decision {
	if e.Open.Exclusive {
		return refuse(Exists)
	}
	return refuse(Stale)
}

// finalNameTaken: one unrelated writer at a time per final name; a claimed name is free for a new item, but not for an
// append, which would split a delivery, nor for an open that only wants to lock.
func finalNameTaken(w *World, f *File, e *Event) Decision {
	if o := newest(f, taken); o != nil && e.Open.Exclusive {
		return met(Exists, o, "another name, or wait until it is published")
	}
	if o := newest(f, underway); o != nil {
		return underPen(o)
	}
	c := newest(f, func(i *Item) bool { return i.State == Claimed })
	switch {
	case c == nil || e.Open.Exclusive || e.Open.Truncate:
		return Decision{}
	case e.Open.Write:
		return met(Busy, c, "wait until it is settled, or replace it with O_TRUNC")
	default:
		return grant(c, AccessLock)
	}
}

// take: may a folder, link or special file be made under this name?
func take(w *World, e *Event) Decision {
	if i := newest(w.File, taken); i != nil {
		return met(Exists, i, "another name, or wait until it is published")
	}
	return Decision{}
}
