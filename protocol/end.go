package protocol

import (
	"fmt"
	"time"
)

// ended decides what an owner's end means for one item: the table of section 3.
func ended(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil {
		return Decision{}
	}
	switch i.State {
	case Claimed:
		return claimantEnded(w, i, e)
	case Held:
		return heldOwnerEnded(w, i, e)
	case Staged:
		return writerEnded(w, i, e)
	}
	return Decision{}
}

// writerEnded: what keeps the item open, be it a descriptor of a child or one whose end is only being told, decides its fate
// when it goes. An end that took a descriptor or a mapping along has spoilt the item already; a temp name needs its owner.
func writerEnded(w *World, i *Item, e *Event) Decision {
	next := *i
	if e.Verdict.Kind == Killed && !i.Closed() && i.Temp() {
		next.Taint = i.Taint.Worse(badEnd(e))
	}
	if i.Match.Publish == PublishExit && exitFails(i, e) {
		next.Taint = next.Taint.Worse(badEnd(e))
	}
	switch {
	case i.Closed() && i.Begun:
		return effects(remove(i)) // made by an open that never returned
	case !i.Closed() || i.InClaim || !i.Temp(): // else its last close is being decided about right now
		inherit(&next, e)
		if i.Match.Publish == PublishExit {
			waitForWriter(&next, e)
		}
		return effects(Effect{Kind: Move, Next: next})
	case e.Verdict.Kind == Killed:
		x := abandon(i, e.At)
		x.Next.Taint = i.Taint.Worse(badEnd(e))
		return effects(x)
	case i.Taint.Kind == TaintKilled, i.Taint.Kind == TaintSession:
		return effects(abandon(i, e.At))
	case e.Heir != nil:
		inherit(&next, e)
		if next.Taint.Kind != TaintExit {
			next.Match.Publish = PublishClose // the end that publish=exit waits for has come
		}
		return effects(Effect{Kind: Move, Next: next})
	}
	return effects(park(i, e.At))
}

// waitForWriter: publish=exit waits for all who wrote; the item is the next one's.
func waitForWriter(next *Item, e *Event) {
	next.Owner = 0
	if e.Writer != nil {
		next.Owner, next.UID = e.Writer.ID, e.Writer.Process.UID
	}
}

// inherit makes the heir the owner; without one nobody is.
func inherit(next *Item, e *Event) {
	next.Owner = 0
	if e.Heir != nil {
		next.Owner, next.UID = e.Heir.ID, e.Heir.Process.UID
	}
}

// exitFails: the writer did not end as publish=exit demands. What nobody knows is taken as for any other writer.
func exitFails(i *Item, e *Event) bool {
	switch e.Verdict.Kind {
	case Killed:
		return true
	case Failed:
		return !i.Match.NonzeroExit
	case Unknown:
		return e.NotClean
	}
	return false
}

// badEnd is what a writer's end does to what it left.
func badEnd(e *Event) Taint {
	t := Taint{Kind: TaintExit, Verdict: e.Verdict}
	if e.Verdict.Kind == Killed {
		t.Kind = TaintKilled
	}
	if e.By != nil {
		t.Detail = fmt.Sprintf("writer pid %d (%s) %s", e.By.Process.PID, e.By.Program, e.Verdict)
	}
	return t
}

// heldOwnerEnded: publish=exit waits for just this; the other barriers wait on without an owner.
func heldOwnerEnded(w *World, i *Item, e *Event) Decision {
	if i.Barrier != BarrierExit {
		next := *i
		inherit(&next, e) // who may still look at it; it waits for nobody
		return effects(Effect{Kind: Move, Next: next})
	}
	if exitFails(i, e) {
		q := quarantine(i, e.At)
		q.Next.Taint = i.Taint.Worse(badEnd(e))
		return effects(q)
	}
	if e.Writer != nil {
		next := *i
		waitForWriter(&next, e)
		return effects(Effect{Kind: Move, Next: next})
	}
	return publish(w, w.File, i, e)
}

// claimantEnded: a claim goes to the heir, else back. While kin still has the item open after an ordinary end, the
// claim stays; after a kill their descriptors are fenced.
func claimantEnded(w *World, i *Item, e *Event) Decision {
	v := claimVerdict(e.Verdict)
	if v.Kind != Killed && e.Heir != nil {
		next := *i
		inherit(&next, e)
		return effects(Effect{Kind: Move, Next: next})
	}
	if v.Kind != Killed && inUse(w, i, nil) {
		next := *i
		next.Ending = v
		return effects(Effect{Kind: Move, Next: next})
	}
	open := v.Kind == Killed && inUse(w, i, nil)
	d := takenAway(w, i, e, v)
	if open {
		d.Effects[len(d.Effects)-1].Next.lose(i.Owner)
	}
	return d
}

// lose puts a party on the list of those whose claim on the item was taken away.
func (i *Item) lose(owner PartyID) {
	i.Former = (&Formers{By: owner}).and(i.Former, func(p PartyID) bool { return p == 0 })
}

// takenAway ends a claim whose owner, or whose kin, may not know it. What they are still writing within it follows nothing
// any more.
func takenAway(w *World, i *Item, e *Event, v Verdict) Decision {
	d := settleClaim(w, i, e.At, v)
	d.Effects = append(lostWithin(w, i, e), d.Effects...)
	return d
}

// lostWithin keeps what was written in a claim that is taken away, out of sight of those who wrote it.
func lostWithin(w *World, claim *Item, e *Event) []Effect {
	var lost []Effect
	for _, o := range w.File.Private {
		switch {
		case !o.InClaim || o.Base != claim.ID || o.State != Staged:
		case o.Derived:
			lost = append(lost, remove(o))
		default:
			q := quarantine(o, e.At)
			if o.Taint.Kind == NoTaint {
				q.Next.Taint = Taint{Kind: TaintBase, Detail: "the claim it was written in is over"}
			}
			lost = append(lost, q)
		}
	}
	return lost
}

// expired moves what nobody came back for out of the way, and lets go of what was in quarantine for long (Bounds). A
// closed temp file of processes that can't be seen stays theirs, since nobody knows their end, but not for ever.
func expired(w *World, e *Event) Decision {
	i := w.item(e.Item)
	switch {
	case i != nil && i.State == Quarantined:
		return effects(remove(i))
	case i == nil || i.State != Parked && i.State != Abandoned && !w.unseens(i):
		return Decision{}
	}
	q := quarantine(i, e.At)
	q.Next.Taint = i.Taint.Worse(Taint{Kind: TaintExit, Detail: "its writer ended without renaming it, and nobody came back for it"})
	return effects(q)
}

// unseens: a closed temp file of processes that can't be seen.
func (w *World) unseens(i *Item) bool {
	p := w.PartyOf(i.Owner)
	return i.State == Staged && i.Barrier == BarrierTemp && p != nil && p.Unseen
}

// settleClaim: what was moved into a work folder stays there when its mover ended well; everything else goes back, also
// from a temp name there: nobody would see it under that.
func settleClaim(w *World, i *Item, at time.Time, v Verdict) Decision {
	to := i.Home
	if i.Match.Vector.Class == ClassWork && v.Kind == Clean && !i.Temp() {
		to = i.Name
	}
	return back(w, i, to, at, failed(i, v))
}

// released ends a claim by other means: the last descriptor of a claimant that ended, the linger, an operator's order. A
// verdict in the event counts if the claimant has none of its own.
func released(w *World, e *Event) Decision {
	i := w.item(e.Item)
	if i == nil || i.State != Claimed {
		return Decision{}
	}
	v := i.Ending
	if v.Kind == Living {
		v = e.Verdict
	}
	if !e.Lingered && i.Ending.Kind != Living && inUse(w, i, nil) {
		return Decision{} // by a descriptor that writes within the claim: its close decides
	}
	d := takenAway(w, i, e, v)
	if e.Lingered {
		d.Effects[len(d.Effects)-1].Next.lose(i.Owner)
	}
	return d
}

// claimVerdict: for a reader these signals are ordinary ends (`cat f | head` is no accident), though not the end with 0
// after which an item stays in a work folder.
func claimVerdict(v Verdict) Verdict {
	if v.Kind == Killed {
		switch v.Status {
		case 13, 2, 1, 15, 3: // PIPE INT HUP TERM QUIT
			return Verdict{Kind: Unknown}
		}
	}
	return v
}

func failed(i *Item, v Verdict) int {
	if i.Uncounted {
		return 0
	}
	if v.Kind == Failed || v.Kind == Killed {
		return 1
	}
	return 0
}

// back gives a claimed item back to everybody, under a name: at once, or after the newer one that has come meanwhile.
func back(w *World, i *Item, to NameKey, at time.Time, attempts int) Decision {
	var x Effect
	home := w.file(to)
	if home != nil && home.Public != nil {
		next := *i
		next.Name, next.Match = to, home.Match
		x = hold(&next, BarrierOlder, at, time.Time{})
		x.Next.Owner = 0
	} else {
		m := i.Match
		if home != nil {
			m = home.Match
		}
		x = public(i, to, m, at)
	}
	x.Next.Attempts += attempts
	return effects(x)
}

func (w *World) file(n NameKey) *File {
	for _, f := range []*File{w.File, w.Target} {
		if f != nil && f.Name == n {
			return f
		}
	}
	return nil
}
