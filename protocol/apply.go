package protocol

// Memory is where Files and Items are kept.
type Memory interface {
	File(NameKey) *File // made if there is none
	Item(ItemID) *Item  // nil if unknown
}

// Apply makes an effect's change in memory, after the disk has it.
func Apply(m Memory, i *Item, x Effect) {
	switch x.Kind {
	case Unalias:
		m.File(x.At).Unalias(i)
		return
	case Unname:
		i.Links = x.Next.Links
		if f := m.File(x.At); f.Public == i {
			f.Public = nil
		}
		return
	case Make:
	default:
		m.File(i.Name).drop(i)
	}
	if over := m.Item(x.Over); over != nil {
		m.File(over.Name).drop(over)
		over.WrittenOver()
	}
	if other := m.Item(x.Swap); other != nil {
		swap(m, i, other, x)
		return
	}
	old := i.Name
	*i = x.Next
	if i.State == Gone {
		return
	}
	m.File(i.Name).add(i)
	if x.Alias != 0 && old != i.Name {
		f := m.File(old)
		f.Aliases = append(f.Aliases, Alias{Item: i, By: x.Alias})
	}
}

// WrittenOver: the item has lost a name to another one. One that everybody knew, and that has more, lives on under those.
func (i *Item) WrittenOver() {
	if i.Links > 1 && (i.State == Public || i.State == Claimed) {
		i.State, i.Owner, i.Home, i.Readers, i.Ending = Public, 0, NameKey{}, 0, Verdict{}
		i.Links--
		return
	}
	i.State, i.Owner = Gone, 0
}

func swap(m Memory, i, other *Item, x Effect) {
	from := i.Name
	other.Name, other.Match = from, i.Match
	*i = x.Next
	m.File(from).Public, m.File(i.Name).Public = other, i
}

func (f *File) add(i *Item) {
	if i.State == Public {
		f.Public = i
		return
	}
	f.Private = append(f.Private, i)
}

func (f *File) drop(i *Item) {
	if f.Public == i {
		f.Public = nil
	}
	for n, p := range f.Private {
		if p == i {
			f.Private = append(f.Private[:n:n], f.Private[n+1:]...)
			return
		}
	}
}

// Unalias drops the name from the names that link(2) left behind for the item.
func (f *File) Unalias(i *Item) {
	for n, a := range f.Aliases {
		if a.Item == i {
			f.Aliases = append(f.Aliases[:n:n], f.Aliases[n+1:]...)
			return
		}
	}
}

// Empty tells whether nothing but the disk knows of the name.
func (f *File) Empty() bool {
	return len(f.Private) == 0 && len(f.Aliases) == 0 && len(f.Bases) == 0 && f.Turn == nil
}
