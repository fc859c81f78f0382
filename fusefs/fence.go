package fusefs

import (
	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// fenceLocked ends the descriptors of a claim that was taken away. A claim that its owner gave up, or handed on by
// renaming, leaves them: they read on what they opened. Whoever writes an item that an operator discards is told so, too.
func (d *desk) fenceLocked(n *node, old *protocol.Item, c *call) (fenced bool) {
	if c.Op == protocol.OpOrderDiscard {
		return d.fenceAllLocked(n)
	}
	taken := c.Op == protocol.OpEnded || c.Op == protocol.OpReleased || c.Op == protocol.OpOrderRelease
	if taken && old.InClaim && n.bytes.item.State != protocol.Staged {
		return d.fenceHandlesLocked(n)
	}
	if old.State != protocol.Claimed || n.bytes.item.State == protocol.Claimed {
		return false
	}
	for _, h := range n.bytes.handles {
		if h.kind() != claimHandle {
			continue
		}
		h.become(viewHandle)
		if taken {
			h.fenced.Store(true)
		}
	}
	n.bytes.item.Readers = 0
	return taken && len(n.bytes.handles) > 0
}

// fenceAllLocked ends all descriptors on an item that is gone.
func (d *desk) fenceAllLocked(n *node) bool {
	if n.bytes.item.State != protocol.Gone {
		return false // another one of the name, whose turn has come
	}
	return d.fenceHandlesLocked(n)
}

func (d *desk) fenceHandlesLocked(n *node) bool {
	for _, h := range n.bytes.handles {
		h.fenced.Store(true)
	}
	return len(n.bytes.handles) > 0
}

// fencedLocked refuses a call about the bytes that a claim has left behind when it was taken away. They are the next one's
// now, and no path leads to this node: who asks has one of the descriptors.
func (d *desk) fencedLocked(n *node, p *protocol.Party, verb string) error {
	if n.kind != itemNode || n.bytes.item.State != protocol.Gone {
		return nil
	}
	for _, h := range n.bytes.handles {
		if h.fenced.Load() {
			return d.refuseLocked(attempt{by: p, verb: verb, path: d.pathLocked(n.bytes.item.Name)}, &protocol.Refusal{Reason: protocol.Fenced, Item: protocol.ItemID(n.id)})
		}
	}
	return nil
}

// renewLocked gives an item a node of its own, apart from that of the descriptors that were fenced. The kernel keeps what
// was read in a cache by node: the next reader's pages would be theirs.
func (d *desk) renewLocked(n *node) *node {
	if n.bytes.item.State == protocol.Gone {
		d.staleLocked(n, n)
		return n
	}
	fresh := &node{id: d.table.nextID(), kind: itemNode, bytes: newBytes(n.bytes.item)}
	b := fresh.bytes
	b.item.ID, b.item.Writers, b.item.Readers = protocol.ItemID(fresh.id), 0, 0
	b.at, b.noted, b.class, b.last, b.names = n.bytes.at, n.bytes.noted, n.bytes.class, n.bytes.last, n.bytes.names
	b.ctimeShown, b.ctimeOurs = n.bytes.ctimeShown, n.bytes.ctimeOurs
	d.renumberBasesLocked(n, fresh)
	d.findLocked(n.bytes.item.Name).Replace(&n.bytes.item, &b.item)
	inode := n.inode
	d.table.identify(n, backing.ID{})
	fresh.inode = inode
	d.table.add(fresh)
	n.bytes.item.State, n.bytes.item.Owner, n.bytes.at, n.bytes.frozen = protocol.Gone, 0, backing.Object{}, n.bytes.last.Mode != 0
	d.countQuarantineLocked(n)
	d.countQuarantineLocked(fresh)
	d.staleLocked(n, fresh)
	return fresh
}

// staleLocked has the kernel drop what it keeps of a node's bytes. That can wait for a read under way, so it is done
// without the lock; who opens the item meanwhile waits for it, so its node must be the one they find.
func (d *desk) staleLocked(old, fresh *node) {
	done := make(chan struct{})
	fresh.bytes.releasing = done
	d.ending[done] = nil
	d.keepLocked(fresh, 1)
	go func() {
		d.stale(old.id)
		d.mu.Lock()
		defer d.mu.Unlock()
		if fresh.bytes.releasing == done {
			fresh.bytes.releasing = nil
		}
		delete(d.ending, done)
		close(done)
		d.keepLocked(fresh, -1)
	}()
}
