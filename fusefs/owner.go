package fusefs

import (
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// estate is what a party owns, and when it last called on the folders where that lies.
type estate struct {
	uid   uint32 // whose share of descriptors it takes to watch the party
	items map[*node]struct{}
	calls map[uint64]time.Time          // by folder
	names map[protocol.NameKey]struct{} // left behind by link(2)
	marks map[*mark]struct{}            // that are held by it
	wrote map[*node]struct{}            // what publish=exit keeps back until all its writers have ended well
}

// estateLocked is a party's estate, made, and the party watched, if it had none.
func (d *desk) estateLocked(id protocol.PartyID) *estate {
	if d.owned[id] == nil {
		d.owned[id] = &estate{uid: d.uidOf(id), items: map[*node]struct{}{}, calls: map[uint64]time.Time{}, names: map[protocol.NameKey]struct{}{}, marks: map[*mark]struct{}{}, wrote: map[*node]struct{}{}}
		d.countLocked(d.owned[id].uid, 0, 1)
		d.Callers.Watch(id)
	}
	return d.owned[id]
}

// uidOf is a party's user.
func (d *desk) uidOf(id protocol.PartyID) uint32 {
	if p := d.Callers.Party(id); p != nil {
		return p.Process.UID
	}
	return 0
}

// dropEstateLocked: the party owns nothing any more.
func (d *desk) dropEstateLocked(id protocol.PartyID) {
	if e := d.owned[id]; e != nil {
		d.countLocked(e.uid, 0, -1)
		delete(d.owned, id)
	}
}

func (d *desk) dropIfEmptyLocked(id protocol.PartyID, e *estate) {
	if len(e.items) == 0 && len(e.names) == 0 && len(e.wrote) == 0 && len(e.marks) == 0 {
		d.dropEstateLocked(id)
	}
}

// indexLocked keeps account of who owns which items, and has the owners watched.
func (d *desk) indexLocked(n *node, old, now protocol.PartyID) {
	if old == now {
		return
	}
	if e := d.owned[old]; e != nil {
		delete(e.items, n)
		d.dropIfEmptyLocked(old, e)
	}
	if now != 0 {
		d.estateLocked(now).items[n] = struct{}{}
	}
}

// watch settles what parties leave behind when they end, as the news comes. It returns when the news stops.
func (d *desk) watch() {
	for end := range d.Callers.Ends() {
		d.mu.Lock()
		if !d.stopped {
			d.endedLocked(end)
		}
		d.mu.Unlock()
	}
}

// endedLocked gives everything a party owned to its heir, back, or away. Doing it twice is harmless; doing it while it
// is being done, because deciding about one item looks at its neighbours, is what settling prevents.
func (d *desk) endedLocked(end protocol.End) {
	if _, under := d.settling[end.Party]; under {
		return
	}
	d.settling[end.Party] = struct{}{}
	defer delete(d.settling, end.Party)
	d.formerEndedLocked(end)
	e := d.owned[end.Party]
	if e == nil {
		return
	}
	for n := range e.wrote {
		d.writerEndedLocked(n, end)
	}
	for n := range e.items { // claims first: what is still being written within one keeps it
		if n.bytes.item.State == protocol.Claimed {
			d.bequeathItemLocked(n, end)
		}
	}
	for len(e.items) > 0 {
		for n := range e.items {
			d.bequeathItemLocked(n, end)
		}
	}
	for name := range e.names {
		d.bequeathLocked(name, end)
	}
	for x := range e.marks {
		d.markEndedLocked(x, end)
	}
	d.dropEstateLocked(end.Party)
}

// bequeathLocked hands a name that link(2) left behind to its owner's heir, or gives it up.
func (d *desk) bequeathLocked(name protocol.NameKey, end protocol.End) {
	f := d.findLocked(name)
	if end.Heir != nil {
		f.Bequeath(end.Party, end.Heir.ID)
		d.estateLocked(end.Heir.ID).names[name] = struct{}{}
		return
	}
	for _, i := range f.Disown(end.Party) {
		d.keepLocked(d.table.byID[uint64(i.ID)], -1)
	}
	d.trimLocked(name)
}

// bequeathItemLocked decides about one item of a party that ended, which owns it no longer.
func (d *desk) bequeathItemLocked(n *node, end protocol.End) {
	c := d.call(protocol.OpEnded, nil)
	c.By = d.Callers.Party(end.Party)
	c.Verdict, c.Heir = end.Verdict, d.rightfulLocked(n, end.Heir)
	c.Writer = d.livingWriterLocked(n)
	d.settleLocked(n, c)
	if n.bytes.item.Owner == end.Party {
		d.indexLocked(n, end.Party, 0)
	}
}

// rightfulLocked: who may not settle an item can't inherit a claim on it, such as the user who started a program that reads
// it as root.
func (d *desk) rightfulLocked(n *node, heir *protocol.Party) *protocol.Party {
	i := &n.bytes.item
	if heir == nil || i.State != protocol.Claimed || heir.Process.UID == i.UID {
		return heir
	}
	if no, err := d.mayNotSettleLocked(n, heir); no || err != nil {
		return nil
	}
	return heir
}
