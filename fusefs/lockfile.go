package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// approachLocked asks whether an open of a name may begin, or must wait for its lock file. An open that was sent to look
// again has been let in.
func (d *desk) approachLocked(n *node, c *call, tid uint32) error {
	key := n.bytes.item.Name
	if a, ok := d.asked[tid]; ok && a.node == n.id {
		key = a.key
	}
	if r := d.redirects[tid]; len(d.locked) == 0 && !n.bytes.inTurn() || r != nil && r.key == key {
		return nil
	}
	approach := *c
	approach.Op = protocol.OpApproach
	had := d.turnOfLocked(key)
	dec, err := d.decideLocked(&approach, func() (*protocol.World, error) {
		parent, err := d.folderLocked(uint64(key.Folder))
		if err != nil {
			return nil, err
		}
		f := d.knownLocked(parent, key.Name)
		return d.world(f, nil), d.boundLocked(f, n)
	})
	if c.Job = approach.Job; len(dec.Turns) > 0 && (had == nil || had.Handed) {
		c.took = d.turns.of[key]
	}
	return err
}

// boundLocked finds the locks on the lock file of a name. n is the item that it means, nil if there is none.
func (d *desk) boundLocked(f *protocol.File, n *node) error {
	f.Bound = nil
	parent := d.table.byID[uint64(f.Name.Folder)]
	if len(d.locked) == 0 || !f.Match.Class.Bound() || parent == nil {
		return nil
	}
	lock, err := d.lockFileNodeLocked(parent, protocol.LockFileOf(f.Name).Name)
	if lock != nil {
		f.Bound = d.holdingsLocked(lock.bytes.locksOf().Held(), protocol.LockFileOf(f.Name), parent, n)
	}
	return err
}

// lockFileNodeLocked is the node of a lock file, nil if there is none of that name, or nobody knows it.
func (d *desk) lockFileNodeLocked(parent *node, name string) (*node, error) {
	st, err := d.Store.Stat(backing.Object{Folder: parent.path(), Name: name})
	switch lock := d.table.byInode[st.ID]; {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, nil
	case err != nil || lock == nil || lock.kind != itemNode || lock.bytes.item.Match.Vector.Class != protocol.ClassLock:
		return nil, err
	default:
		return lock, nil
	}
}

// holdingsLocked are the locks whose holders may write the item, or make it in the folder if there is none.
func (d *desk) holdingsLocked(locks []protocol.Lock, on protocol.NameKey, parent, item *node) []protocol.Holding {
	var all []protocol.Holding
	for _, l := range locks {
		h, open := d.holdingLocked(l), d.handles[l.Handle]
		h.On = on
		writes := open != nil && open.write && item != nil && open.node.bytes.locks == item.bytes.locks
		if writes || d.mayBindLocked(parent, item, h.Holders) {
			all = append(all, h)
		}
	}
	return all
}

// holdingLocked says who holds a lock: who has opened the file and who has asked for the lock may be two. A shell opens it,
// and flock(1) locks it for the shell and ends; a process's lock is only its own.
func (d *desk) holdingLocked(l protocol.Lock) protocol.Holding {
	h := protocol.Holding{Lock: l}
	taker := d.Callers.Party(l.By)
	if taker != nil && !d.Callers.Ended(l.By) {
		h.Holders = append(h.Holders, taker)
	}
	if open := d.handles[l.Handle]; open != nil && (l.Kind == protocol.Flock || len(h.Holders) == 0) {
		h.Holders = append(h.Holders, open.party)
		if len(h.Holders) == 1 && d.Callers.Ended(open.party.ID) { // a daemon has locked it before it went into the background
			h.Has = func(p *protocol.Party) bool { return d.inheritedLocked(p, open.node) }
		}
	}
	return h
}

// inheritedLocked: a process has a file open by a descriptor that it did not open itself.
func (d *desk) inheritedLocked(p *protocol.Party, n *node) bool {
	own := 0
	for _, h := range n.bytes.handles {
		if h.party.ID == p.ID {
			own++
		}
	}
	return d.Callers.Open(p, n.inode.Ino) > own
}

// mayBindLocked: only who may write a file binds others who would: else a reader could lock its owner out.
func (d *desk) mayBindLocked(parent, item *node, holders []*protocol.Party) bool {
	for _, p := range holders {
		uid, groups := p.Process.UID, []uint32(nil)
		if uid != 0 {
			groups = d.Callers.Groups(uint32(p.Process.PID))
		}
		var may bool
		var err error
		if item == nil || item.bytes.at == (backing.Object{}) {
			may, err = d.Store.May(parent.path(), uid, p.GID, groups, unix.W_OK|unix.X_OK)
		} else {
			may, err = d.Store.MayFile(item.bytes.at, uid, p.GID, groups, unix.W_OK)
		}
		if may && err == nil {
			return true
		}
	}
	return false
}

// locksChangedLocked: locks on a node were let go, or taken.
func (d *desk) locksChangedLocked(n *node) {
	if l := n.bytes.locks; l.Empty() {
		delete(d.locked, l)
	} else {
		d.locked[l] = struct{}{}
	}
	d.liftLockedLocked(n.bytes.locks)
}
