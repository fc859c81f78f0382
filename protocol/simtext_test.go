package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

func (s *sim) describe(old, now *Item, x *Effect) string {
	what := fmt.Sprintf("%s#%d", s.path(now.Name), now.ID)
	if x.Kind == Move && old.Name != now.Name {
		what = fmt.Sprintf("%s#%d → %s", s.path(old.Name), old.ID, s.path(now.Name))
	}
	switch x.Kind {
	case Remove:
		return what + " removed"
	case Unname, Unalias:
		return what + " loses the name " + s.path(x.At)
	}
	what += " " + s.state(now)
	if x.Over != 0 {
		what += fmt.Sprintf(", over #%d", x.Over)
	}
	if x.Swap != 0 {
		what += fmt.Sprintf(", exchanged with #%d", x.Swap)
	}
	return what
}

// state is an item's state with what belongs to it.
func (s *sim) state(i *Item) string {
	text := i.State.String()
	if i.State == Held || i.State == Staged && i.Barrier != NoBarrier {
		text += " " + i.Barrier.String()
	}
	if i.Derived {
		text += " unwritten"
	}
	if i.InClaim {
		text += " in claim"
	}
	if i.Ghost {
		text += " to be locked"
	}
	if i.Owner != 0 {
		text += " by " + s.names[i.Owner]
	}
	if i.State == Claimed && i.Home != i.Name {
		text += " from " + s.path(i.Home)
	}
	if i.Attempts > 0 {
		text += fmt.Sprintf(", attempts %d", i.Attempts)
	}
	if i.Taint.Kind != NoTaint {
		text += ", " + i.Taint.Kind.String()
	}
	return text
}

// list gives all items that are not gone, by id.
func (s *sim) list() []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(s.items)) {
		if i := s.items[id]; i.State != Gone {
			all = append(all, fmt.Sprintf("%s#%d %s", s.path(i.Name), i.ID, s.state(i)))
		}
	}
	return all
}

// owned are the items of a party, by id.
func (s *sim) owned(p *Party) []*Item {
	var all []*Item
	for _, i := range s.items {
		if i.Owner == p.ID && i.State != Gone {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *Item) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
