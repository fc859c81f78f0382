package protocol

import (
	"fmt"
	"maps"
)

// simDisk is what survives a crash: the public names, and private items with what their places and notes say.
type simDisk struct {
	public  map[NameKey]ItemID
	private map[ItemID]Item
}

func (d *simDisk) carryOut(i *Item, x *Effect) {
	switch x.Kind {
	case Unalias:
		return
	case Remove, Unname:
		if d.public[x.At] == i.ID {
			delete(d.public, x.At)
		} else {
			delete(d.private, i.ID)
		}
		return
	case Make:
		if x.Next.Derived {
			return
		}
	case Move:
		if _, private := d.private[i.ID]; !private && d.public[i.Name] != i.ID {
			return // no bytes yet, or no name any more
		}
	}
	d.move(i, x)
}

func (d *simDisk) move(i *Item, x *Effect) {
	if other := x.Swap; other != 0 {
		d.public[i.Name], d.public[x.Next.Name] = other, i.ID
		return
	}
	if d.public[i.Name] == i.ID {
		delete(d.public, i.Name)
	}
	delete(d.private, i.ID)
	delete(d.private, x.Over)
	if x.Next.State == Public {
		if was := d.public[x.Next.Name]; was != 0 && was != x.Over {
			panic(fmt.Sprintf("%v: item %d is in the way of %d", x.Next.Name, was, i.ID))
		}
		d.public[x.Next.Name] = i.ID
		return
	}
	d.private[i.ID] = x.Next
}

func (d *simDisk) clone() simDisk {
	return simDisk{public: maps.Clone(d.public), private: maps.Clone(d.private)}
}
