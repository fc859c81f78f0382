package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// world is the Files an event touches, with the facts of parties.
func (d *desk) world(f, target *protocol.File) *protocol.World {
	w := &protocol.World{File: f, Target: target, PartyOf: d.Callers.Party, HeirOf: d.livingsHeir, RootBound: d.RootBound}
	if d.marks.count > 0 {
		w.HasMade = d.hasMadeLocked
	}
	if len(d.locked) > 0 {
		w.LocksOn = d.locksOnLocked
	}
	return w
}

// locksOnLocked are the locks on an item's file that bind strangers.
func (d *desk) locksOnLocked(i *protocol.Item) []protocol.Holding {
	n, parent := d.table.byID[uint64(i.ID)], d.table.byID[uint64(i.Name.Folder)]
	if n == nil || n.kind != itemNode || parent == nil {
		return nil
	}
	list := n.bytes.locksOf()
	all := d.holdingsLocked(list.Held(), i.Name, parent, n)
	for _, w := range list.Waiters() {
		for _, h := range d.holdingsLocked([]protocol.Lock{w.Lock}, i.Name, parent, n) {
			h.Waits = true
			all = append(all, h)
		}
	}
	if on := protocol.LockFileOf(i.Name); i.Match.Class.Bound() {
		if lock, _ := d.lockFileNodeLocked(parent, on.Name); lock != nil { // what can't be looked at binds nobody, as who opens is told
			all = append(all, d.holdingsLocked(lock.bytes.locksOf().Held(), on, parent, n)...)
		}
	}
	return all
}

// writeMetLocked says whose lock forbids a write by a descriptor, nil if nobody's does.
func (d *desk) writeMetLocked(h *handle) *protocol.Refusal {
	i := &h.node.bytes.item
	parent := d.table.byID[uint64(i.Name.Folder)]
	if len(d.locked) == 0 || parent == nil || parent.kind != folderNode {
		return nil
	}
	f := *d.knownLocked(parent, i.Name.Name)
	if i.State == protocol.Public {
		f.Public = i
	} else if base := d.table.byID[uint64(i.Base)]; base != nil && base.bytes.item.State == protocol.Public {
		f.Public = &base.bytes.item
	}
	c := d.call(protocol.OpWrite, h.party)
	c.Item, c.Handle = i.ID, h.id
	return protocol.Decide(d.world(&f, nil), &c.Event).Refuse
}

// crossesLocked: where locks bind, strangers' flock and fcntl locks see each other.
func (d *desk) crossesLocked(n *node) {
	if n.bytes.locks != nil && n.bytes.item.Match.Class.Binds() {
		n.bytes.locks.Strangers = d.strangersLocked
	}
}

// strangersLocked tells whether two locks have no holder in common, nor kin among their holders.
func (d *desk) strangersLocked(a, b protocol.Lock) bool {
	if a.Handle == b.Handle {
		return false
	}
	for _, p := range d.holdingLocked(a).Holders {
		for _, q := range d.holdingLocked(b).Holders {
			if protocol.Kin(p, q) || protocol.Kin(q, p) {
				return false
			}
		}
	}
	return true
}

// liftLockedLocked shows the versions that have waited for a lock on the one before them.
func (d *desk) liftLockedLocked(l *lockList) {
	names := map[protocol.NameKey]struct{}{}
	for b := range l.of {
		names[b.item.Name] = struct{}{}
		if of, is := protocol.LockedBy(b.item.Name); is {
			names[of] = struct{}{}
		}
	}
	for name := range names {
		parent := d.table.byID[uint64(name.Folder)]
		if parent == nil || parent.kind != folderNode || parent.folder.files[name.Name] == nil {
			continue
		}
		for _, i := range append([]*protocol.Item(nil), parent.folder.files[name.Name].Private...) {
			if n := d.table.byID[uint64(i.ID)]; n != nil && i.State == protocol.Held && i.Barrier == protocol.BarrierLocked {
				d.settleLocked(n, d.call(protocol.OpLifted, nil))
			}
		}
	}
}
