package protocol

import "time"

// rename moves what the caller sees under the first name to the second (the table of section 7). Everything that can be
// refused is refused before anything moves.
func rename(w *World, e *Event) Decision {
	i := Visible(w, w.File, e)
	switch {
	case i == nil || i.State == Gone:
		return refuse(NotFound)
	case w.Target.Public == i || w.Target.Link == i:
		return Decision{} // two names of one inode: rename(2) does nothing
	}
	for _, d := range []Decision{unmovable(w, i, e), w.removable(i, e), w.removable(w.Target.Public, e)} {
		if d.Refuse != nil {
			return d
		}
	}
	if t := w.Target.Public; t != nil && w.former(w.Target, t, e.By) {
		return overtaken(t)
	}
	if w.Target.others(e) {
		return notItsTurn(w.Target)
	}
	if w.Target.Stale(e.Job) {
		return outdated(w.Target)
	}
	if e.Exchange {
		return exchange(w, i, e)
	}
	if i.Links > 1 && !alike(i.Match.Vector.Class, w.Target.Match.Vector.Class) {
		return met(OtherKind, i, "it has other names, under which it would be of another class: copy it, and remove this one")
	}
	if d := targetTaken(w, e); d.Refuse != nil {
		return d
	}
	if c := ownClaim(w, w.Target, e); c != nil && c != i && (i.Closed() || i.Private()) {
		return effects(succeedUnder(c, i, e))
	}
	x := []Effect{moved(w, i, e)}
	if x[0].Next.State == Public {
		x = shown(w.Target, x[0], e)
	}
	return Decision{Effects: append(x, covered(w, i, e)...)}
}

// unmovable: what is refused whatever the second name is.
func unmovable(w *World, i *Item, e *Event) Decision {
	switch {
	case i.State == Claimed && !w.kin(i, e.By):
		return met(NotYours, i, "only its claimant moves it")
	case w.former(w.File, i, e.By):
		return overtaken(i)
	case w.File.alias(i):
		return met(OtherKind, i, "rename the name that link gave it")
	case i.State == Abandoned:
		return met(Busy, i, "open it for writing to resume it: its writer was killed")
	case i.InClaim:
		return met(Busy, i, "close it first")
	case i.State == Public && w.File.others(e):
		return notItsTurn(w.File)
	case i.State == Public && w.File.staleToTake(e.Job):
		return outdated(w.File)
	}
	return failedWriter(i)
}

// alike: one inode may have names of both classes. If one kind is written in place, or one is claimed by its reader, the
// other would be, too.
func alike(a, b Class) bool {
	return a == b || inPlace(a, b) || a.Claimed() && b.Claimed() || a.Versioned() && b.Versioned()
}

// inPlace: one inode may have names of both classes. Who opens records by a name of another class would meet no lock.
func inPlace(a, b Class) bool {
	return a.InPlace() && b.InPlace() && (a == ClassRecords) == (b == ClassRecords)
}

// failedWriter: a rename or link is an act of its own, and does not ask how the writer ended unless publish=exit says so.
// What a failed write has lost no act makes good.
func failedWriter(i *Item) Decision {
	unfit := i.Taint.Kind == TaintWrite || i.Taint.Kind == TaintExit && i.Match.Publish == PublishExit
	if i.State == Public || !unfit {
		return Decision{}
	}
	return met(WriteFailed, i, "write it anew")
}

// ownClaim is the item that the caller claimed under the name: what it writes there stays inside the claim.
func ownClaim(w *World, f *File, e *Event) *Item {
	return newest(f, func(i *Item) bool { return i.State == Claimed && w.kin(i, e.By) })
}

// succeedUnder puts an item that its claimant has given the claimed one's name in the place of that. If who made the claim has
// ended, and only a descendant kept it, it is his who goes on with it.
func succeedUnder(c, i *Item, e *Event) Effect {
	if i.Closed() {
		x := succeed(c, i)
		if c.Ending.Kind != Living {
			x.Next.Owner, x.Next.UID, x.Next.Ending = e.By.ID, e.By.Process.UID, Verdict{}
		}
		return x
	}
	next := *i
	next.Name, next.Match, next.InClaim, next.Base = c.Name, c.Match, true, c.ID
	return Effect{Kind: Move, Next: next}
}

// targetTaken: what a stranger holds under the second name, and what NOREPLACE finds there.
func targetTaken(w *World, e *Event) Decision {
	t := w.Target
	if t.Match.Temp == TempByName {
		if v := Visible(w, t, e); v != nil && e.NoReplace {
			return refuse(Exists)
		}
		return Decision{}
	}
	if e.NoReplace || t.Match.Vector.OnCollision == CollideRefuse {
		if t.Public != nil {
			return refuse(Exists)
		}
		if o := newest(t, taken); o != nil {
			return met(Exists, o, "another name")
		}
	}
	if o := otherWriter(w, t, e); o != nil {
		return met(Busy, o, "wait until it is published")
	}
	return Decision{}
}

// moved is what the item becomes under the second name.
func moved(w *World, i *Item, e *Event) Effect {
	t := w.Target
	class := t.Match.Vector.Class
	switch {
	case class.InPlace():
		return public(i, t.Name, t.Match, e.At)
	case i.State == Public && i.Match.Class.InPlace() && t.Versioned():
		return rotated(i, t, e)
	case t.Match.Temp == TempByName:
		return movedToTemp(i, t, e)
	case !i.Closed():
		return movedOpen(i, t, e)
	case class == ClassWork:
		return claimedUnder(i, t, e)
	case (i.State == Staged || i.State == Held) && i.Match.Publish == PublishExit && i.Owner != 0:
		x := hold(i, BarrierExit, e.At, i.Until)
		x.Next.Name, x.Next.Match, x.Next.Taint = t.Name, bound(i, t), Taint{}
		return x
	case t.Match.Publish == PublishRename && i.State == Staged && serversOwn(i.Name, t.Name):
		x := hold(i, BarrierRename, e.At, time.Time{})
		x.Next.Name, x.Next.Match = t.Name, t.Match
		return x
	}
	return public(i, t.Name, t.Match, e.At)
}

// movedToTemp: a public or claimed item is claimed, and comes back under its former name, but for a version that has
// been current, which stays visible. An unfinished item stays its owner's; any other becomes the mover's.
func movedToTemp(i *Item, t *File, e *Event) Effect {
	switch class := i.Match.Class; {
	case i.State == Claimed, i.State == Public && class.Claimed():
		return claimedUnder(i, t, e)
	case i.State == Public && !class.InPlace():
		return public(i, t.Name, t.Match, e.At)
	}
	x := adopt(i, e)
	x.Next.Name, x.Next.Match, x.Next.Barrier, x.Next.Ghost = t.Name, t.Match, BarrierTemp, false
	if x.Next.Taint = i.Taint; i.Owner != 0 {
		x.Next.Owner, x.Next.UID, x.Next.Match = i.Owner, i.UID, bound(i, t)
	}
	if !i.Closed() {
		x.Next.Barrier = BarrierClose
	}
	return x
}

// claimedUnder is a claim under the second name. One that there was goes on, and keeps its home; what nobody but its
// writer knew yet is published under the second name and at home there.
func claimedUnder(i *Item, t *File, e *Event) Effect {
	switch {
	case i.State == Public:
		return claim(i, e, t.Name, t.Match, i.Name)
	case i.State != Claimed:
		return claim(i, e, t.Name, t.Match, t.Name)
	}
	next := *i
	next.Name, next.Match = t.Name, t.Match
	if i.Ending.Kind != Living {
		next.Owner, next.UID, next.Ending = e.By.ID, e.By.Process.UID, Verdict{}
	}
	return Effect{Kind: Move, Next: next}
}

// movedOpen: still open for writing. An unfinished item appears under the new name at its last clean close, also where
// that waits for a rename: this is it. A file of another class waits as a foreign one does.
func movedOpen(i *Item, t *File, e *Event) Effect {
	next := *i
	next.Name, next.Match, next.Base = t.Name, bound(i, t), 0
	if next.Match.Publish == PublishRename && !serversOwn(i.Name, t.Name) {
		next.Match.Publish = PublishClose
	}
	if i.State == Public {
		next.State, next.Barrier, next.Since, next.Match, next.Ghost = Held, BarrierForeign, e.At, t.Match, false
	}
	return Effect{Kind: Move, Next: next}
}

// bound is what the second name says of an unfinished item. The barrier exit binds its writer's own rename too.
func bound(i *Item, t *File) Match {
	m := t.Match
	if i.Match.Publish == PublishExit {
		m.Publish, m.NonzeroExit = PublishExit, i.Match.NonzeroExit
	}
	return m
}

// covered are the caller's own unfinished items under the second name: they are written over, and never appear. Who writes a
// state file is told so.
func covered(w *World, moved *Item, e *Event) []Effect {
	var gone []Effect
	for _, p := range w.Target.Private {
		if p != moved && (p.State == Staged || p.State == Held) && !p.InClaim && !p.Derived && w.kin(p, e.By) {
			gone = append(gone, overridden(w.Target, p, e))
		}
	}
	return gone
}

// exchange swaps two public items in one step.
func exchange(w *World, i *Item, e *Event) Decision {
	j := Visible(w, w.Target, e)
	if j == nil {
		return refuse(NotFound)
	}
	if i == j {
		return Decision{} // two names of one item
	}
	if i.State != Public || j.State != Public || i.Match.Vector.Class != j.Match.Vector.Class {
		return met(Busy, j, "only two public files of the same class are exchanged")
	}
	x := public(i, w.Target.Name, j.Match, e.At)
	x.Swap, x.Next.Ghost = j.ID, i.Ghost
	return effects(x)
}

// link gives the item a second name: a publication if it is the caller's own unfinished one.
func link(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || i.State == Gone {
		return refuse(Stale)
	}
	if i.Private() && !w.kin(i, e.By) {
		return met(NotYours, i, "")
	}
	t := w.Target
	if t.Public != nil || Visible(w, t, e) != nil {
		return refuse(Exists)
	}
	if d := take(&World{File: t, PartyOf: w.PartyOf}, e); d.Refuse != nil && t.Match.Temp != TempByName {
		return d
	}
	return linked(w, i, t, e)
}

func linked(w *World, i *Item, t *File, e *Event) Decision {
	from, to := i.Match.Vector.Class, t.Match.Vector.Class
	switch {
	case failedWriter(i).Refuse != nil:
		return failedWriter(i)
	case (i.State == Staged || i.State == Held) && !i.InClaim && t.Match.Temp != TempByName:
		x := moved(&World{File: w.File, Target: t, PartyOf: w.PartyOf}, i, e)
		x.Alias = i.Owner // ln(1) is another process than the rm(1) that follows
		return effects(x)
	case i.State == Public && from.Versioned() && to.Versioned(), // what has been current is visible under any name
		(i.State == Public || i.State == Claimed) && (from == to || inPlace(from, to)) && t.Match.Temp != TempByName,
		i.State == Claimed && to == ClassArchive:
		return Decision{Item: i.ID, Access: AccessInPlace} // a second name of the same inode
	case i.State == Public && from.Claimed() && to == ClassLock && !e.Observer:
		return lockedByLink(i)
	}
	return refuse(OtherKind)
}
