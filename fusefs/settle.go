package fusefs

import (
	"github.com/airlockfs/airlockfs/protocol"
)

// settleDeadLocked settles the items of a File whose owners have ended but whose end was not handled yet: whoever looks
// after wait(2) has returned must see the consequences (I7). That goes for items that will come back to the name, too.
func (d *desk) settleDeadLocked(f *protocol.File) {
	for _, i := range d.concernsLocked(f) {
		d.retryLocked(d.table.byID[uint64(i.ID)])
	}
	for _, i := range d.concernsLocked(f) {
		if n := d.table.byID[uint64(i.ID)]; n != nil {
			d.formersEndedLocked(n)
		}
	}
	for again := true; again; {
		again = false
		for _, i := range d.concernsLocked(f) {
			if d.ownerGoneLocked(i) {
				d.endedLocked(d.Callers.End(i.Owner))
				again = true
				break
			}
		}
		again = d.settleAliasesLocked(f) || again
	}
}

// settleAliasesLocked does the same for names that link(2) left behind: they go to the owner's heir.
func (d *desk) settleAliasesLocked(f *protocol.File) bool {
	for _, a := range f.Aliases {
		if d.partyGoneLocked(a.By) {
			d.endedLocked(d.Callers.End(a.By))
			return true
		}
	}
	return false
}

// ownerGoneLocked: the item's owner has ended, and that is not being settled yet.
func (d *desk) ownerGoneLocked(i *protocol.Item) bool { return d.partyGoneLocked(i.Owner) }

func (d *desk) partyGoneLocked(id protocol.PartyID) bool {
	_, under := d.settling[id]
	return id != 0 && !under && d.owned[id] != nil && d.Callers.Ended(id)
}

// concernsLocked are the items whose owner's end would change what the name means.
func (d *desk) concernsLocked(f *protocol.File) []*protocol.Item {
	lent := d.table.byID[uint64(f.Name.Folder)].folder.lent[f.Name.Name]
	if len(lent) == 0 && f.Link == nil {
		return f.Private
	}
	all := append([]*protocol.Item(nil), f.Private...)
	for n := range lent {
		all = append(all, &n.bytes.item)
	}
	if f.Link != nil {
		all = append(all, f.Link)
	}
	return all
}

// lendLocked keeps account of claimed items that were moved: by the name they go back to.
func (d *desk) lendLocked(n *node, old *protocol.Item) {
	d.lentLocked(old, func(names map[string]map[*node]struct{}) {
		delete(names[old.Home.Name], n)
		if len(names[old.Home.Name]) == 0 {
			delete(names, old.Home.Name)
		}
	})
	now := &n.bytes.item
	d.lentLocked(now, func(names map[string]map[*node]struct{}) {
		if names[now.Home.Name] == nil {
			names[now.Home.Name] = map[*node]struct{}{}
		}
		names[now.Home.Name][n] = struct{}{}
	})
}

func (d *desk) lentLocked(i *protocol.Item, do func(map[string]map[*node]struct{})) {
	if home := d.table.byID[uint64(i.Home.Folder)]; i.State == protocol.Claimed && i.Home != i.Name && home != nil {
		do(home.folder.lent)
	}
}
