package protocol

// unlink: a claimant settles its item; a public one is claimed and settled in one step; an own unfinished one is given
// up. A name that only aliases a published item loses the alias.
func unlink(w *World, e *Event) Decision {
	i := Visible(w, w.File, e)
	if i == nil {
		return refuse(NotFound)
	}
	if w.File.alias(i) {
		return effects(Effect{Kind: Unalias, Next: *i, At: w.File.Name})
	}
	if i.State == Claimed && !w.kin(i, e.By) {
		return met(NotYours, i, "only its claimant removes it")
	}
	if w.former(w.File, i, e.By) {
		return overtaken(i)
	}
	if d := w.removable(i, e); d.Refuse != nil {
		return d
	}
	if i.State == Public && w.File.others(e) {
		return notItsTurn(w.File)
	}
	if i.State == Public && w.File.staleToTake(e.Job) {
		return outdated(w.File)
	}
	if base := w.item(i.Base); i.InClaim && base != nil && base.State == Claimed && w.kin(base, e.By) {
		i = base
	}
	if i.State == Claimed {
		return Decision{Effects: append(withinClaim(w, i), unname(i, w.File.Name))}
	}
	return effects(unname(i, w.File.Name))
}

// withinClaim gives up the versions that were begun inside a claim, before it is settled.
func withinClaim(w *World, i *Item) []Effect {
	var gone []Effect
	for _, o := range w.File.Private {
		if o.InClaim && o.Base == i.ID {
			gone = append(gone, remove(o))
		}
	}
	return gone
}

// unname removes one name of an item; the last one takes the item with it.
func unname(i *Item, n NameKey) Effect {
	if i.Links <= 1 {
		x := remove(i)
		x.At = n
		return x
	}
	next := *i
	next.Links--
	return Effect{Kind: Unname, Next: next, At: n}
}

// alias: the name only stands for the item, which link(2) published under another one.
func (f *File) alias(i *Item) bool {
	for _, a := range f.Aliases {
		if a.Item == i {
			return true
		}
	}
	return false
}
