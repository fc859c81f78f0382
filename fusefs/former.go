package fusefs

import (
	"strings"

	"github.com/airlockfs/airlockfs/protocol"
)

// rememberFormersLocked has the ends of former claimants noticed: an heir takes over that its party lost a claim, as it
// would have taken the claim over.
func (d *desk) rememberFormersLocked(formers *protocol.Formers) {
	for _, id := range formers.All() {
		if _, known := d.formers[id]; !known && !d.Callers.Ended(id) {
			d.formers[id] = struct{}{}
			d.Callers.Watch(id)
		}
	}
}

// formerEndedLocked settles it on all items when the news comes.
func (d *desk) formerEndedLocked(end protocol.End) {
	if _, known := d.formers[end.Party]; !known {
		return
	}
	delete(d.formers, end.Party)
	for _, n := range d.table.byID {
		if n.kind == itemNode && n.bytes.item.Former != nil {
			d.bequeathFormerLocked(n, end)
		}
	}
}

// formersEndedLocked settles it on one item that is looked at, where the news has not come yet (I7). The heir may have
// ended, too.
func (d *desk) formersEndedLocked(n *node) {
	for again := true; again; {
		again = false
		for _, id := range n.bytes.item.Former.All() {
			if d.Callers.Ended(id) {
				again = d.bequeathFormerLocked(n, d.Callers.End(id)) || again
			}
		}
	}
}

// bequeathFormerLocked tells whether the item's list has changed. The note names the heirs already.
func (d *desk) bequeathFormerLocked(n *node, end protocol.End) bool {
	i := &n.bytes.item
	next := d.world(nil, nil).Bequeath(i, end)
	if next == i.Former {
		return false
	}
	i.Former = next
	d.rememberFormersLocked(next)
	return true
}

// overtakenBelowLocked refuses to move a folder to who has lost a claim on something below it, and may not know.
func (d *desk) overtakenBelowLocked(p *protocol.Party, folder *node) error {
	for _, n := range d.table.byID {
		if n.kind != itemNode || n.bytes.item.Former == nil || n.bytes.item.State == protocol.Gone {
			continue
		}
		parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]
		if parent == nil || !parent.below(folder) {
			continue
		}
		d.formersEndedLocked(n)
		if r := d.world(nil, nil).Overtaken(&n.bytes.item, p); r != nil {
			return d.refuseLocked(attempt{by: p, verb: "rename", path: folder.path(), below: d.pathLocked(n.bytes.item.Name)}, r)
		}
	}
	return nil
}

// livingsHeir is who would inherit from a party that lives. What the dead leave, their heirs have.
func (d *desk) livingsHeir(id protocol.PartyID) *protocol.Party {
	if d.Callers.Ended(id) {
		return nil
	}
	return d.Callers.Heir(id)
}

// formersText names those whose claims were taken away, as far as they live, and their heirs.
func (d *desk) formersText(formers *protocol.Formers) string {
	var names []string
	for _, id := range formers.All() {
		if p := d.Callers.Party(id); p != nil && !p.Unseen && !d.Callers.Ended(id) {
			names = append(names, d.lineOf(p).String())
		}
	}
	return strings.Join(names, " ")
}

// formersOf finds them again after a restart, if they or their heirs live.
func (d *desk) formersOf(names string) *protocol.Formers {
	var all []protocol.PartyID
	for _, name := range strings.Fields(names) {
		line, err := protocol.ParseLine(name)
		if err != nil {
			continue
		}
		for _, process := range line.All() {
			if p, alive := d.Callers.Recall(process); alive {
				d.Callers.Watch(p.ID) // so that it is not forgotten
				all = append(all, p.ID)
				break
			}
		}
	}
	return protocol.FormersOf(all)
}
