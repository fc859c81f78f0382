package protocol

// Disown drops the aliases that link(2) left behind for a party, which has ended, and returns what they stood for.
func (f *File) Disown(by PartyID) []*Item {
	var lost []*Item
	kept := f.Aliases[:0]
	for _, a := range f.Aliases {
		if a.By == by {
			lost = append(lost, a.Item)
		} else {
			kept = append(kept, a)
		}
	}
	f.Aliases = kept
	return lost
}

// Replace puts another Item in the place of one: the same bytes under another id.
func (f *File) Replace(old, now *Item) {
	f.renumber(old.ID, now.ID)
	if f.Public == old {
		f.Public = now
	}
	for n, i := range f.Private {
		if i == old {
			f.Private[n] = now
		}
	}
}

// Bequeath hands a party's aliases to its heir.
func (f *File) Bequeath(from, to PartyID) {
	for n := range f.Aliases {
		if f.Aliases[n].By == from {
			f.Aliases[n].By = to
		}
	}
}

// Stands tells whether the name only stands for an item, which link(2) published under another one.
func (f *File) Stands(i *Item) bool { return f.alias(i) }
