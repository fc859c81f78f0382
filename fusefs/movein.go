package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// moveInLocked gives a node to the version that an open for writing of it has made, and what it had a node of its own. It
// is for an open by way of a descriptor (/proc/self/fd/N, as smbd's, which looks with O_PATH first): the kernel walks no
// path then, so ESTALE has sent it to the same node again, and a second one would reach the program. Nobody may have the
// node open, since its pages are the new version's from now on.
func (d *desk) moveInLocked(n *node, c *call, tid uint32) {
	r := d.redirects[tid]
	if r == nil || r.made == nil || !c.Open.Write || !d.mayMoveInLocked(r.made, n) {
		return
	}
	made := r.made
	d.moveOutLocked(n)
	owner := made.bytes.item.Owner
	d.indexLocked(made, owner, 0)
	d.table.drop(made)
	n.bytes, r.made = made.bytes, n
	n.bytes.item.ID = protocol.ItemID(n.id)
	d.table.identify(n, made.inode)
	d.indexLocked(n, 0, owner)
}

// mayMoveInLocked: the kernel does not know the version, and nobody has the node open or is about to.
func (d *desk) mayMoveInLocked(made, n *node) bool {
	for _, r := range d.redirects {
		if r.pin == n {
			return false
		}
	}
	version, i := &made.bytes.item, &n.bytes.item
	current := i.State == protocol.Public || i.State == protocol.Claimed && i.Home == i.Name
	return current && version.State == protocol.Staged && version.Name == i.Name &&
		made.lookups == 0 && len(made.bytes.handles) == 0 && len(n.bytes.handles) == 0
}

// moveOutLocked gives an item a node of its own, with the versions that are made from it and the clock that runs for it.
func (d *desk) moveOutLocked(n *node) {
	old := n.bytes.item
	to := d.renewLocked(n)
	d.shareLocksLocked(to, n)
	for _, i := range d.findLocked(old.Name).Private {
		if i.Base == old.ID {
			i.Base = to.bytes.item.ID
			d.baseLocked(old.ID, i.Base, false)
		}
	}
	d.indexLocked(n, old.Owner, 0)
	d.indexLocked(to, 0, old.Owner)
	if t := d.timers[n]; t != nil {
		t.Stop()
		delete(d.timers, n)
		d.lingerLocked(to)
	}
}
