package protocol

// foreign refuses what would take a file away from somebody outside the mount who has it open for writing. The name is
// not there for who would read, remove, move or link it, and busy for who would write under it. What the caller has under
// the name himself is another matter.
func foreign(w *World, e *Event) Decision {
	if t := w.Target; t != nil && t.Foreign != nil && (e.Op == OpRename || e.Op == OpLink) {
		return Decision{Refuse: writtenOutside(Busy, t.Foreign.ID)}
	}
	i := w.File.Foreign
	if i == nil {
		return Decision{}
	}
	switch asked := e.Item == i.ID; {
	case (e.Op == OpUnlink || e.Op == OpRename) && Visible(w, w.File, e) == nil,
		e.Op == OpLink && asked, e.Op == OpOpen && asked && !e.Open.Write:
		return Decision{Refuse: writtenOutside(NotFound, i.ID)}
	case (e.Op == OpCreate || e.Op == OpTake) && Visible(w, w.File, e) == nil, e.Op == OpOpen && asked:
		return Decision{Refuse: writtenOutside(Busy, i.ID)}
	}
	return Decision{}
}

// writtenOutside refuses because of an outsider's descriptor or mapping.
func writtenOutside(why Reason, i ItemID) *Refusal { return &Refusal{Reason: why, Item: i} }
