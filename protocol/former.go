package protocol

import "slices"

// Formers are the parties whose claim on an item was taken away, because nobody used it or by an operator's order, the
// latest first. Each must open the item anew before it settles, replaces or writes it (I5). nil: none. A list never changes.
type Formers struct {
	By      PartyID
	Earlier *Formers
}

// mostFormers bounds a list, and so the item's note.
const mostFormers = 16

// All are the parties, the latest first.
func (l *Formers) All() []PartyID {
	var all []PartyID
	for ; l != nil; l = l.Earlier {
		all = append(all, l.By)
	}
	return all
}

// FormersOf is the list of these parties, the latest first; too many are cut off, and 0 is left out.
func FormersOf(all []PartyID) *Formers {
	var l *Formers
	for n := min(len(all), mostFormers) - 1; n >= 0; n-- {
		if all[n] != 0 {
			l = &Formers{By: all[n], Earlier: l}
		}
	}
	return l
}

// and puts the parties of another list behind those of this one, without those who are not to be on it.
func (l *Formers) and(others *Formers, not func(PartyID) bool) *Formers {
	var all []PartyID
	listed := map[PartyID]bool{}
	for _, p := range append(l.All(), others.All()...) {
		if !listed[p] && !not(p) {
			listed[p] = true
			all = append(all, p)
		}
	}
	return FormersOf(all)
}

// FormerOf is the item of a name that a claim of who, or of whose kin he is, was taken away from: the public one, or one that
// waits behind it.
func (w *World) FormerOf(f *File, who *Party) *Item {
	if w.onList(f.Public, who) {
		return f.Public
	}
	return newest(f, func(i *Item) bool { return i.State == Held && w.onList(i, who) })
}

func (w *World) onList(i *Item, who *Party) bool {
	if i == nil || who == nil {
		return false
	}
	for _, p := range i.Former.All() {
		if Kin(w.PartyOf(p), who) || w.heirOf(p, who) {
			return true
		}
	}
	return false
}

// heirOf: who would inherit what the party has, if that ended now. What it has started is others' until then: of what
// works side by side one need not know what was taken from another.
func (w *World) heirOf(p PartyID, who *Party) bool {
	if w.HeirOf == nil {
		return false
	}
	for heir := w.HeirOf(p); heir != nil; heir = w.HeirOf(heir.ID) {
		if heir.ID == who.ID {
			return true
		}
	}
	return false
}

// Bequeath is the item's list once a party on it has ended: its heir takes its place, as it would have taken its claim
// over. Who has the item anew is none.
func (w *World) Bequeath(i *Item, end End) *Formers {
	if end.Heir == nil || claimVerdict(end.Verdict).Kind == Killed || !slices.Contains(i.Former.All(), end.Party) {
		return i.Former
	}
	anew := i.State == Claimed && Kin(end.Heir, w.PartyOf(i.Owner))
	var all []PartyID
	for _, p := range i.Former.All() {
		switch {
		case p != end.Party:
			all = append(all, p)
		case !anew:
			all = append(all, end.Heir.ID)
		}
	}
	return FormersOf(all).and(nil, func(PartyID) bool { return false })
}

// Overtaken is the refusal for who was a claimant of the item and has not noticed that he is none any more; else nil.
func (w *World) Overtaken(i *Item, who *Party) *Refusal {
	if !w.onList(i, who) {
		return nil
	}
	return overtaken(i).Refuse
}

// former: the caller had a claim on the public item, or on an earlier one of its name, that was taken away.
func (w *World) former(f *File, i *Item, who *Party) bool {
	return i.State == Public && w.FormerOf(f, who) != nil
}

// overtaken refuses a former claimant who has not noticed.
func overtaken(i *Item) Decision {
	return met(Busy, i, "the claim on it was taken away, by an operator or because it was not used: open it again first")
}

// passFormers keeps the lists true: who claims an item anew is on it no longer, and a version that is written over leaves
// its list to the one that follows, since a former claimant who removes the name means neither.
func passFormers(w *World, e *Event, done []Effect) {
	for n := range done {
		next, over := &done[n].Next, w.item(done[n].Over)
		var left *Formers
		if over != nil && next.State == Public && done[n].Over != next.ID {
			left = over.Former
		}
		if next.Former == nil && left == nil {
			continue
		}
		own := next.State == Public && left != nil || next.State == Claimed && e.By != nil && next.Owner == e.By.ID
		next.Former = next.Former.and(left, func(p PartyID) bool {
			return w.PartyOf(p) == nil || own && e.By != nil && Kin(w.PartyOf(p), e.By)
		})
	}
}
