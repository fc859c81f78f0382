package fusefs

import (
	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// installLocked makes an effect true in memory and tells those it concerns.
func (d *desk) installLocked(n *node, x *protocol.Effect, c *call) {
	i := &n.bytes.item
	old := *i
	if x.Over != 0 {
		d.buryLocked(x.Over, c)
	}
	protocol.Apply(memory{d}, i, *x)
	d.succeedLocksLocked(n, d.table.byID[uint64(x.Over)])
	d.elsewhereLocked(d.table.byID[uint64(x.Over)])
	n.movedLocked(old.Name)
	n.bytes.workOf(c)
	if other := d.table.byID[uint64(x.Swap)]; x.Swap != 0 {
		other.movedLocked(i.Name)
	}
	d.indexLocked(n, old.Owner, i.Owner)
	d.rememberFormersLocked(i.Former)
	d.givenTokenLocked(i.Token)
	if x.Alias != 0 && old.Name != i.Name {
		d.estateLocked(x.Alias).names[old.Name] = struct{}{}
		d.keepLocked(n, 1)
	}
	d.baseLocked(old.Base, i.Base, i.State == protocol.Gone)
	if i.State == protocol.Public && fresh(&old) {
		d.publishLocked(n, c)
	}
	if !i.Private() {
		d.forgetWritersLocked(n)
	}
	d.lendLocked(n, &old)
	if i.State == protocol.Gone && n.bytes.fresh != nil { // the open that it was made for never came
		n.bytes.fresh.Close()
		n.bytes.fresh = nil
	}
	if d.fenceLocked(n, &old, c) {
		defer d.renewLocked(n)
	}
	d.armLocked(n, &old)
	d.settledLocked(n, &old)
	d.letGoLocked(old.Name)
	delete(d.ghosts, old.Name)
	if i.Ghost && i.State == protocol.Public {
		d.ghosts[i.Name] = struct{}{}
	}
	d.sayChangeLocked(n, &old, x, c)
	d.warnLocked(n, &old, c)
	if x.Swap != 0 {
		d.trimLocked(d.table.byID[uint64(x.Swap)].bytes.item.Name)
	}
	d.trimLocked(old.Name)
	d.trimLocked(i.Name)
	if x.At != (protocol.NameKey{}) {
		d.trimLocked(x.At)
	}
}

// buryLocked: the item was written over. Its node lives on for those who have it open.
func (d *desk) buryLocked(id protocol.ItemID, c *call) {
	n := d.table.byID[uint64(id)]
	if n == nil {
		return
	}
	d.leftFolderLocked(n, &n.bytes.item)
	n.bytes.at = backing.Object{}
	if n.bytes.item.Match.Vector.Class.InPlace() || n.bytes.item.State == protocol.Claimed {
		n.bytes.last.Nlink-- // nothing is kept of it: what the disk says is true
	} else {
		n.bytes.frozen = n.bytes.last.Mode != 0
	}
	d.indexLocked(n, n.bytes.item.Owner, 0)
	d.sayReplacedLocked(n, c)
	d.tidyLocked(n)
}

// elsewhereLocked: an item that lost a name to another one may have more. It is where it is known to be, until somebody
// looks for it.
func (d *desk) elsewhereLocked(n *node) {
	if n == nil || n.bytes.item.State != protocol.Public {
		return
	}
	delete(n.bytes.names, n.bytes.item.Name)
	n.bytes.frozen = false
	for name := range n.bytes.names {
		if parent := d.table.byID[uint64(name.Folder)]; parent != nil {
			n.bytes.item.Name, n.bytes.at = name, backing.Object{Folder: parent.path(), Name: name.Name}
			return
		}
	}
}

// baseLocked keeps the version that another is made from.
func (d *desk) baseLocked(old, now protocol.ItemID, gone bool) {
	if gone {
		now = 0
	}
	if old == now {
		return
	}
	if n := d.table.byID[uint64(now)]; n != nil && now != 0 {
		d.keepLocked(n, 1)
	}
	if n := d.table.byID[uint64(old)]; n != nil && old != 0 {
		d.keepLocked(n, -1)
	}
}
