package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// carryOutLocked makes one effect true: on the disk, then in memory.
func (d *desk) carryOutLocked(x *protocol.Effect, c *call) error {
	n := d.table.byID[uint64(x.Next.ID)]
	if x.Kind == protocol.Make {
		return d.makeLocked(x, c)
	}
	if n == nil {
		return syscall.ESTALE
	}
	var err error
	switch x.Kind {
	case protocol.Move:
		if err = d.moveLocked(n, x); errors.Is(err, syscall.ENOENT) {
			err = d.amissLocked(n, x, err)
		}
	case protocol.Unname:
		if n.bytes.item.State == protocol.Claimed && x.At == n.bytes.item.Name {
			return d.renameClaimLocked(n, x, c)
		}
		err = d.removeLocked(n, x)
	case protocol.Remove:
		err = d.removeLocked(n, x)
	case protocol.Unalias:
		d.disownLocked(x.At)
		defer d.keepLocked(n, -1)
	}
	if err != nil {
		return err
	}
	d.installLocked(n, x, c)
	if x.Kind == protocol.Unname {
		delete(n.bytes.names, x.At)
		if n.bytes.item.Name == x.At { // who has looked up another name is about to open it
			d.elsewhereLocked(n)
		}
	}
	return nil
}

// disownLocked: the owners of a name that link(2) left behind need not give it up again.
func (d *desk) disownLocked(name protocol.NameKey) {
	for _, a := range d.findLocked(name).Aliases {
		if e := d.owned[a.By]; e != nil {
			delete(e.names, name)
		}
	}
}

// makeLocked adds the node of a new item. The bytes of an item made in place are created here; those of an unfinished
// one in its owner's place; a version derived from another gets them at its first write.
func (d *desk) makeLocked(x *protocol.Effect, c *call) error {
	n := &node{id: uint64(x.Next.ID), kind: itemNode, bytes: newBytes(protocol.Item{ID: x.Next.ID})}
	n.bytes.mode, n.bytes.uid, n.bytes.gid = c.mode, c.uid, c.gid
	if !x.Next.Derived {
		if err := d.createLocked(n, x, c); err != nil {
			return err
		}
	}
	d.table.add(n)
	d.shareLocksLocked(n, d.makesFrom(x, c))
	d.installLocked(n, x, c)
	return nil
}

func (d *desk) createLocked(n *node, x *protocol.Effect, c *call) error {
	at, err := d.placeLocked(&x.Next)
	if err != nil {
		return err
	}
	var f *backing.File
	if x.Next.State == protocol.Public {
		if f, err = d.createPublicLocked(n, at, &x.Next, c); errors.Is(err, syscall.EEXIST) {
			err = errAgain
		}
	} else {
		f, err = d.createPrivateLocked(at, x.Next.Name, c.mode, c.uid, c.gid)
	}
	if err != nil {
		d.slots.leave(at)
		return err
	}
	st, err := f.Stat2()
	if err == nil {
		n.bytes.at, n.inode, n.bytes.last = at, st.ID, st
		n.bytes.fresh = f
		if x.Next.State != protocol.Public {
			err = d.inheritLocked(f, c.like, c.mode)
		}
	}
	if err != nil {
		d.discardLocked(f, at)
	}
	return err
}

// createPrivateLocked creates a file in a place, for a name. A place that somebody removed is made again.
func (d *desk) createPrivateLocked(at backing.Object, name protocol.NameKey, mode, uid, gid uint32) (*backing.File, error) {
	folder := d.table.byID[uint64(name.Folder)].path()
	f, err := d.Store.Create(at, folder, mode, uid, gid)
	if !errors.Is(err, syscall.ENOENT) || d.repairLocked() != nil {
		return f, err
	}
	if again := d.slots.enter(at); again != nil {
		return nil, again
	}
	return d.Store.Create(at, folder, mode, uid, gid)
}

// moveLocked is the disk's part of a change of state, name or owner: a note where the place can't say it all, then one
// rename, which is the transition.
func (d *desk) moveLocked(n *node, x *protocol.Effect) error {
	if n.bytes.at == (backing.Object{}) {
		return nil
	}
	if x.Swap != 0 {
		return d.swapLocked(n, x)
	}
	if err := d.soundLocked(&x.Next); err != nil {
		return err
	}
	if err := d.noteMoveLocked(n, &x.Next); err != nil {
		return err
	}
	if !moves(&n.bytes.item, &x.Next) {
		return d.noteLocked(n, &x.Next)
	}
	to, how, err := d.targetLocked(x)
	if err != nil {
		return err
	}
	kept := d.retainOverLocked(x)
	if err = d.moveToLocked(n, x, to, how); err != nil {
		d.unretainLocked(kept)
		if over := d.table.byID[uint64(x.Over)]; over == nil || over.bytes.at != to {
			d.slots.leave(to)
		}
		return err
	}
	from := n.bytes.at
	d.slots.leave(from)
	n.bytes.at = to
	d.noteMovedLocked(n, &x.Next)
	d.keepTimeLocked(n)
	if lasts(&n.bytes.item, &x.Next) {
		d.oweMoveLocked(n.bytes.item.Name, x.Next.Name, from.Folder, to.Folder, x.Next.State == protocol.Public)
	}
	return nil
}

func (d *desk) moveToLocked(n *node, x *protocol.Effect, to backing.Object, how backing.How) error {
	if d.lateLocked(n, x) {
		now := unix.NsecToTimespec(d.Now().UnixNano())
		if err := d.Store.Utimens(n.bytes.at, nil, &now); err != nil {
			return err
		}
	}
	err := d.moveKeepingTimesLocked(n, x, to, how)
	if errors.Is(err, syscall.EEXIST) && x.Next.State == protocol.Public {
		err = d.takeOverLocked(n, x, to)
	}
	return err
}

// moves: only then does the disk know a difference. That nobody owns an item any more is not written down: after a
// restart the owner is found dead.
func moves(old, next *protocol.Item) bool {
	return old.State != next.State || old.Name != next.Name || old.Barrier != next.Barrier && next.State == protocol.Held ||
		old.Owner != next.Owner && next.Owner != 0 && next.Private()
}

// takeOverLocked moves an item to a name that is free for it but taken on the disk: by a link or special file, which
// rename(2) writes over, by a further name of an item that is not public, or by a name of its own that could not be
// removed when its claim went on under it. Anything else came from outside.
func (d *desk) takeOverLocked(n *node, x *protocol.Effect, to backing.Object) error {
	st, err := d.Store.Stat(to)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	other := d.table.byInode[st.ID]
	if err == nil && other == n {
		n.bytes.item.Links--
		return d.Store.Remove(n.bytes.at)
	}
	further := other != nil && other.kind == itemNode && other.bytes.item.Private() && other.bytes.at != to
	if err != nil || st.IsFolder() || st.IsRegular() && !further {
		return errAgain
	}
	if err = d.Store.Move(n.bytes.at, to, backing.Replace); err != nil {
		return err
	}
	switch {
	case further:
		other.bytes.item.Links--
		delete(other.bytes.names, x.Next.Name)
	case other != nil:
		d.goneLocked(other, st)
	}
	return nil
}

func (d *desk) swapLocked(n *node, x *protocol.Effect) error {
	other := d.table.byID[uint64(x.Swap)]
	if other == nil {
		return syscall.ESTALE
	}
	if err := d.Store.Move(n.bytes.at, other.bytes.at, backing.Exchange); err != nil {
		return err
	}
	n.bytes.at, other.bytes.at = other.bytes.at, n.bytes.at
	d.oweMoveLocked(n.bytes.item.Name, other.bytes.item.Name, other.bytes.at.Folder, n.bytes.at.Folder, true)
	return nil
}

// removeLocked takes a name away on the disk. An item that was open keeps its last attributes for those who have it.
func (d *desk) removeLocked(n *node, x *protocol.Effect) error {
	at := n.bytes.at
	if x.At != n.bytes.item.Name {
		at = backing.Object{Folder: d.table.byID[uint64(x.At.Folder)].path(), Name: x.At.Name}
	}
	if at == (backing.Object{}) {
		return nil
	}
	if st, err := d.Store.Stat(at); err == nil {
		n.bytes.last = st
		n.bytes.last.Nlink--
	}
	d.timesMovedLocked(&n.bytes.item)
	if err := d.Store.Remove(at); err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	if s := n.bytes.item.State; s == protocol.Public || s == protocol.Claimed {
		d.oweLocked(x.At, at.Folder, false)
	}
	if at == n.bytes.at {
		d.slots.leave(at)
		n.bytes.at = backing.Object{}
	}
	return nil
}
