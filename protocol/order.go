package protocol

// An order is what an operator wants done with one item that is not public (section 15 of docs/protocol.md). Root and the
// mount's owner may order anything, other users only about what is theirs; to them, what is not does not exist.

// Ordered tells whether an order is meant for items like this one. Of several behind one name it means those.
func Ordered(e *Event, i *Item) bool {
	if !i.Private() || i.Derived || i.InClaim || !e.Oversees && i.UID != e.By.Process.UID {
		return false
	}
	switch e.Op {
	case OpOrderRelease:
		return i.State == Claimed
	case OpOrderRequeue:
		return i.State == Quarantined || i.State == Abandoned || i.State == Parked
	case OpOrderPublish:
		return i.State == Held || i.State == Parked || i.State == Staged
	}
	return e.Force || i.State == Quarantined || i.State == Abandoned || i.State == Parked
}

// otherOrder says what is done with items of a state, to who ordered something else.
var otherOrder = [...]string{
	Staged:      "it is unfinished: publish delivers it once it is closed, discard --force removes it",
	Parked:      "it is an unfinished file that nobody owns: publish --as NAME delivers it, discard removes it",
	Abandoned:   "its writer was killed: requeue --as NAME delivers it all the same, discard removes it",
	Held:        "it is held back: publish delivers it now, discard --force removes it",
	Claimed:     "somebody works on it: release gives it back to everybody, discard --force removes it",
	Quarantined: "it is in quarantine: requeue delivers it all the same, discard removes it",
}

// ordered is the item an order is about, or the refusal.
func ordered(w *World, e *Event) (*Item, Decision) {
	i := w.item(e.Item)
	switch {
	case i == nil || !i.Private() || !e.Oversees && i.UID != e.By.Process.UID:
		return i, refuse(NotFound)
	case !Ordered(e, i):
		return i, met(Invalid, i, otherOrder[i.State])
	}
	return i, Decision{}
}

// orderRelease takes a claim away, as the linger does: no attempt is counted, for nobody has failed.
func orderRelease(w *World, e *Event) Decision {
	if _, d := ordered(w, e); d.Refuse != nil {
		return d
	}
	o := *e
	o.Op, o.Lingered, o.Verdict = OpReleased, true, Verdict{Kind: Unknown}
	return released(w, &o)
}

// orderRequeue delivers again what its writer left broken: the operator answers for the bytes. Nobody's attempts on it
// count any more.
func orderRequeue(w *World, e *Event) Decision {
	i, d := ordered(w, e)
	if d.Refuse != nil {
		return d
	}
	f, d := orderedName(w, i, e)
	if d.Refuse != nil {
		return d
	}
	sound := *i
	sound.Taint, sound.Attempts, sound.Match = Taint{}, 0, f.Match
	if f.Public != nil {
		return effects(hold(&sound, BarrierOlder, e.At, sound.Until))
	}
	return effects(public(&sound, f.Name, f.Match, e.At))
}

// orderPublish lifts what still keeps a closed item back, as its event would: it is no word for bytes that failed.
func orderPublish(w *World, e *Event) Decision {
	i, d := ordered(w, e)
	if d.Refuse != nil {
		return d
	}
	if !i.Closed() {
		return met(Busy, i, "somebody has it open for writing: it can be published when it is closed, or removed with discard --force")
	}
	if d = failedWriter(i); d.Refuse != nil {
		return met(WriteFailed, i, "a write on it failed: it has to be written anew")
	}
	f, d := orderedName(w, i, e)
	if d.Refuse != nil {
		return d
	}
	x := public(i, f.Name, f.Match, e.At)
	switch {
	case w.Target != nil || f.Public == nil && i.Base == 0:
		return effects(x)
	case i.Barrier == BarrierOlder:
		return effects(hold(f.Public, BarrierOlder, e.At, f.Public.Until), x) // their turns are exchanged
	case i.Base != 0 && (f.Public == nil || f.Public.ID != i.Base):
		return met(BaseGone, i, "the version it was made from is not the current one any more: publish --as NAME delivers it beside")
	}
	return publish(w, f, i, e)
}

// orderedName is where an order shows an item: under its own name, or under another, which must be free.
func orderedName(w *World, i *Item, e *Event) (*File, Decision) {
	f := w.File
	if w.Target != nil {
		f = w.Target
	}
	switch {
	case f.Match.Temp == TempByName || w.Target == nil && i.Temp():
		return f, met(Invalid, i, "this is the name of an unfinished file: say with --as which name it should have")
	case e.Powerless:
		return f, refuse(NotPermitted)
	case f.Link != nil:
		return f, met(Exists, f.Link, "a file that somebody has claimed has this name, too: release that, or choose another name")
	case w.Target == nil:
		return f, Decision{}
	case f.Public != nil:
		return f, met(Exists, f.Public, "the name is taken: choose another")
	}
	if o := newest(f, taken); o != nil {
		return f, met(Exists, o, "another file of that name is not public yet: choose another name")
	}
	return f, Decision{}
}

// orderDiscard removes an item for good. What somebody may still finish, or be given, takes force.
func orderDiscard(w *World, e *Event) Decision {
	i, d := ordered(w, e)
	switch {
	case d.Refuse != nil:
		return d
	case i.Links > 1 && i.State == Claimed:
		return met(Invalid, i, "it has other names, too: release it, then remove them")
	case i.State == Held && i.Barrier == BarrierOlder && e.Powerless:
		return refuse(NotPermitted)
	case w.onList(i, e.By):
		return overtaken(i)
	}
	return Decision{Effects: append(withinClaim(w, i), remove(i))}
}
