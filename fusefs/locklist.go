package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// lockList are the locks of one file. The versions of a file share it, so that who asks for a lock by a descriptor from
// before a rename over the name contends with those who came after. What is written in place has one of its own.
type lockList struct {
	protocol.Locks
	of map[*bytes]struct{} // the versions
}

// locksOf are the locks on an item, to look at.
func (b *bytes) locksOf() *protocol.Locks {
	if b.locks == nil {
		return &protocol.Locks{}
	}
	return &b.locks.Locks
}

// lockListLocked is the list of a version, made if there was none.
func (d *desk) lockListLocked(n *node) *protocol.Locks {
	if n.bytes.locks == nil {
		joins(n.bytes, &lockList{of: map[*bytes]struct{}{}})
	}
	return &n.bytes.locks.Locks
}

func joins(b *bytes, l *lockList) {
	b.locks = l
	l.of[b] = struct{}{}
}

// leavesLocked: the node is about to be forgotten.
func (n *node) leavesLocked() {
	if n.kind == itemNode && n.bytes.locks != nil {
		delete(n.bytes.locks.of, n.bytes)
		n.bytes.locks = nil
	}
}

// used: somebody has one of the versions open. Who has no lock yet may ask for one.
func (l *lockList) used() bool {
	if l == nil {
		return false
	}
	for b := range l.of {
		if len(b.handles) > 0 {
			return true
		}
	}
	return false
}

// shareLocksLocked has a new version share the list of the one that it is made to follow.
func (d *desk) shareLocksLocked(n, with *node) {
	if with != nil && with.kind == itemNode && n.bytes.locks == nil {
		d.lockListLocked(with)
		joins(n.bytes, with.bytes.locks)
	}
}

// makesFrom is the version that one which is being made will follow: what its open has found.
func (d *desk) makesFrom(x *protocol.Effect, c *call) *node {
	n := d.table.byID[uint64(c.Item)]
	switch {
	case c.Op != protocol.OpOpen || n == nil || n.kind != itemNode:
		return nil
	case x.Next.Base != 0 || n.bytes.item.State == protocol.Public:
		return n
	}
	return nil
}

// succeedLocksLocked: a version has taken another one's place. Who has that open, or locked, goes on in the same list.
func (d *desk) succeedLocksLocked(n, over *node) {
	if over == nil || over.bytes.locks == n.bytes.locks && n.bytes.locks != nil || n.bytes.item.Match.Vector.Class.InPlace() {
		return
	}
	if len(over.bytes.handles) == 0 && !over.bytes.locks.used() {
		return
	}
	list := d.lockListLocked(over)
	former := n.bytes.locks
	joins(n.bytes, over.bytes.locks)
	if former == nil {
		return
	}
	for b := range former.of {
		joins(b, over.bytes.locks)
	}
	d.wakeLocked(n, list.Adopt(&former.Locks))
}

// closedVersionLocked forgets the versions that only a shared list has kept.
func (d *desk) closedVersionLocked(b *bytes) {
	l := b.locks
	if l == nil || l.used() {
		return
	}
	for o := range l.of {
		if n := d.table.byID[uint64(o.item.ID)]; n != nil && n.bytes == o && o != b {
			d.tidyLocked(n)
		}
	}
}
