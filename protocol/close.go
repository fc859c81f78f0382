package protocol

import "time"

// closed decides what becomes of an item when its last writing descriptor is gone.
func closed(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || !i.Closed() {
		return Decision{}
	}
	d := lastClose(w, i, e)
	d.Effects = append(d.Effects, claimOver(w, i, d.Effects, e)...)
	return d
}

func lastClose(w *World, i *Item, e *Event) Decision {
	switch {
	case i.State == Public && i.Ghost && i.Empty:
		return effects(remove(i))
	case i.State == Public && w.File.regains(i):
		return effects(public(i, i.Name, w.File.Match, e.At))
	case i.State != Staged:
		return Decision{}
	case i.Derived, e.Unopened && i.Empty:
		return effects(remove(i)) // opened for writing, never written: nothing happened
	case i.Taint.Kind != NoTaint:
		return tainted(w, i, e)
	case i.Temp() && !i.InClaim:
		return orphanedTemp(w, i, e)
	}
	return finish(w, i, e)
}

// tainted: a temp file stays its owner's, for him to see and to try again, unless the owner was killed; a final name is
// never published.
func tainted(w *World, i *Item, e *Event) Decision {
	if !i.Temp() || i.InClaim {
		return effects(quarantine(i, e.At))
	}
	switch i.Taint.Kind {
	case TaintKilled, TaintSession:
		return effects(abandon(i, e.At))
	}
	return orphanedTemp(w, i, e)
}

// orphanedTemp: a closed temp file waits for its owner to rename it; one whose owner ended before its last descriptor
// did is parked.
func orphanedTemp(w *World, i *Item, e *Event) Decision {
	if i.Owner == 0 {
		return effects(park(i, e.At))
	}
	next := *i
	next.Barrier = BarrierTemp
	return effects(Effect{Kind: Move, Next: next})
}

// finish lets an item that was closed well under a final name go on: behind the next barrier, or to the public.
func finish(w *World, i *Item, e *Event) Decision {
	if i.InClaim {
		return finishInClaim(w, i, e)
	}
	switch i.Match.Vector.Publish {
	case PublishExit:
		if i.Owner != 0 {
			return effects(hold(i, BarrierExit, e.At, time.Time{}))
		}
	case PublishRename:
		return effects(hold(i, BarrierRename, e.At, time.Time{}))
	case PublishQuiet:
		return effects(hold(i, BarrierQuiet, e.At, quietUntil(i, e.At)))
	}
	return publish(w, w.File, i, e)
}

// quietUntil: times and rights that change do not break the quiet, so an open that wrote nothing starts no new wait.
func quietUntil(i *Item, at time.Time) time.Time {
	if !i.Changed && !i.Until.IsZero() {
		return i.Until
	}
	return at.Add(i.Match.Quiet)
}

// publish shows an item under its name, over the one that is there. One made from an earlier version replaces only that
// very version.
func publish(w *World, f *File, i *Item, e *Event) Decision {
	if base := w.item(i.Base); base != nil && base.State == Claimed && e.By != nil && w.kin(base, e.By) {
		return effects(succeed(base, i)) // its writer has claimed the base meanwhile (sort -o f f)
	}
	if i.Base != 0 && (f.Public == nil || f.Public.ID != i.Base) {
		return effects(late(f, i, e))
	}
	if i.Base == 0 && f.Stale(e.Job) {
		return effects(late(f, i, e))
	}
	x := public(i, f.Name, i.Match, e.At)
	switch {
	case !w.publishable(f, i, e):
		return effects(lockedBefore(i, e))
	case i.Base != 0:
		x.Over = i.Base
		return effects(x)
	case f.Public != nil && f.Match.OnCollision == CollideRefuse:
		return effects(hold(i, BarrierOlder, e.At, time.Time{})) // the name was free when it was begun: both are kept
	}
	return effects(shown(f, x, e)...)
}

// shown makes an item public under a name: over the one that is there, or before it.
func shown(f *File, x Effect, e *Event) []Effect {
	if f.Public == nil {
		return []Effect{x}
	}
	if f.Match.OnCollision == CollideKeepBoth && f.Public.Match.Class.Claimed() {
		return []Effect{hold(f.Public, BarrierOlder, e.At, time.Time{}), x}
	}
	x.Over = f.Public.ID
	return []Effect{x}
}

// finishInClaim: the claimant's new version takes the place of the claimed one.
func finishInClaim(w *World, i *Item, e *Event) Decision {
	base := w.item(i.Base)
	if base == nil || base.State != Claimed || !w.kin(base, e.By) {
		q := quarantine(i, e.At)
		q.Next.Taint = q.Next.Taint.Worse(Taint{Kind: TaintBase, Detail: "the claim it was written in is over"})
		return effects(q)
	}
	return effects(succeed(base, i))
}

// succeed puts new bytes in the place of claimed ones; the claim goes on.
func succeed(base, i *Item) Effect {
	next := *base
	next.ID, next.Base, next.Links, next.InClaim = i.ID, 0, i.Links, false
	next.Attempts = max(base.Attempts, i.Attempts)
	next.Empty, next.Readers, next.Writers = i.Empty, i.Readers, i.Writers
	return Effect{Kind: Move, Next: next, Over: base.ID}
}

// claimOver gives a claim back whose owner has ended, if the version just closed took its place, or was the last of it
// that kin had open.
func claimOver(w *World, i *Item, done []Effect, e *Event) []Effect {
	c := w.item(i.Base)
	if c == nil || c.State != Claimed || c.Ending.Kind == Living {
		return nil
	}
	if x := done[0]; x.Over == c.ID {
		return settleClaim(w, &x.Next, e.At, x.Next.Ending).Effects
	}
	if inUse(w, c, i) {
		return nil
	}
	return settleClaim(w, c, e.At, c.Ending).Effects
}

// inUse: kin of a claim's owner have the item open, or a version within the claim other than but. If nobody has that open
// any more, its last close is being decided about right now.
func inUse(w *World, c, but *Item) bool {
	return c.Readers > 0 || newest(w.File, func(o *Item) bool {
		return o.InClaim && o.Base == c.ID && o != but && Kin(w.PartyOf(c.Owner), w.PartyOf(o.Owner))
	}) != nil
}

func remove(i *Item) Effect {
	next := *i
	next.State, next.Owner = Gone, 0
	return Effect{Kind: Remove, Next: next, At: i.Name}
}

func quarantine(i *Item, at time.Time) Effect { return leave(i, Quarantined, at) }
func abandon(i *Item, at time.Time) Effect    { return leave(i, Abandoned, at) }
func park(i *Item, at time.Time) Effect       { return leave(i, Parked, at) }

func leave(i *Item, s State, at time.Time) Effect {
	next := *i
	next.State, next.Owner, next.Since, next.InClaim, next.Barrier = s, 0, at, false, NoBarrier
	next.Base, next.Derived = 0, false
	return Effect{Kind: Move, Next: next}
}

func hold(i *Item, b Barrier, at, until time.Time) Effect {
	next := *i
	next.State, next.Barrier, next.Until, next.Since, next.Changed = Held, b, until, at, false
	next.Home, next.Readers, next.Ending = NameKey{}, 0, Verdict{}
	return Effect{Kind: Move, Next: next}
}

// lifted: the event that a held item waited for has come.
func lifted(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || i.State != Held || !i.Closed() || i.Barrier == BarrierOlder && w.File.Public != nil {
		return Decision{}
	}
	if i.Taint.Kind != NoTaint {
		return effects(quarantine(i, e.At))
	}
	if i.Barrier == BarrierLocked && !w.publishable(w.File, i, e) {
		return Decision{} // somebody else has a lock on it
	}
	return publish(w, w.File, i, e)
}

// lock: a file that is locked before its first byte was made to be locked. It is a lock file until it gets bytes that
// are no pid: visible to all who open it, in no listing.
func lock(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || i.State != Staged || !i.Empty || i.Derived || i.InClaim || i.Temp() || i.Taint.Kind != NoTaint || w.File.Public != nil {
		return Decision{}
	}
	x := public(i, i.Name, i.Match, e.At)
	x.Next.Ghost, x.Next.Match.Unlisted = true, true
	x.Next.Match.Vector.Class = ClassLock
	return effects(x)
}

// payload turns a file that was made to be locked into an unfinished item of its name's class.
func payload(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || !i.Ghost || i.State != Public {
		return Decision{}
	}
	next := *i
	next.Ghost, next.Match = false, w.File.Match
	if next.Match.Vector.Class.InPlace() {
		return effects(Effect{Kind: Move, Next: next})
	}
	next.State, next.Owner, next.UID, next.Barrier = Staged, e.By.ID, e.By.Process.UID, BarrierClose
	return effects(Effect{Kind: Move, Next: next})
}
