package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// toResize is beside the flags of open(2), for truncate(2) by path.
const toResize = 1 << 31

// openMode translates the flags of open(2).
func openMode(flags, mode uint32) protocol.OpenMode {
	acc := flags & unix.O_ACCMODE
	return protocol.OpenMode{
		Read: acc == unix.O_RDONLY || acc == unix.O_RDWR, Write: acc == unix.O_WRONLY || acc == unix.O_RDWR,
		Resize: flags&toResize != 0, NonBlock: flags&unix.O_NONBLOCK != 0, Append: flags&unix.O_APPEND != 0, Truncate: flags&unix.O_TRUNC != 0, Exclusive: flags&unix.O_EXCL != 0, Mode: mode,
	}
}

// open opens a node that the caller has looked up, without waiting.
func (d *desk) open(p *protocol.Party, tid uint32, id uint64, flags uint32) (*handle, error) {
	return d.tryOpen(p, tid, id, flags, nil)
}

// tryOpen is open, by a call that can wait if o is given.
func (d *desk) tryOpen(p *protocol.Party, tid uint32, id uint64, flags uint32, o *opening) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.nodeLocked(id)
	if err != nil {
		return nil, err
	}
	if n.kind != itemNode {
		return nil, syscall.EOPNOTSUPP
	}
	c := d.call(protocol.OpOpen, p)
	c.Open, c.patient = openMode(flags, 0), o != nil && !o.last
	c.queues = o != nil
	if !c.Open.Write {
		onlyLooks, err := d.mayNotSettleLocked(n, p)
		if err != nil {
			return nil, err // rather than to let somebody read what he will take for his
		}
		c.Observer, c.SeesClaimed = c.Observer || onlyLooks, c.SeesClaimed || onlyLooks
	}
	h, err := d.openItemLocked(n, c, tid, flags)
	d.untakenLocked(c, err)
	return h, d.waitsLocked(o, c, n, err)
}

func (d *desk) openItemLocked(n *node, c *call, tid, flags uint32) (*handle, error) {
	if h := d.openPinnedLocked(n, c, tid); h != nil {
		return h, nil
	}
	if h, err := d.openNamelessLocked(n, c, tid, flags); h != nil || err != nil {
		return h, err
	}
	if err := d.approachLocked(n, c, tid); err != nil {
		return nil, err
	}
	asked, moved := d.movedSinceLocked(tid, n)
	d.moveInLocked(n, c, tid)
	switch i := &n.bytes.item; {
	case moved:
		d.redirectLocked(tid, asked, c, protocol.Decision{})
		return nil, syscall.ESTALE
	case c.Open.Write && i.State == protocol.Claimed && asked != i.Name && asked != protocol.NameKey{}:
		return nil, refused{&protocol.Refusal{Reason: protocol.Busy, Kind: "claim", Item: i.ID, By: i.Owner, Since: i.Since,
			WhatNow: "write it under the name it was claimed by, or remove this one first"}}
	}
	if n.bytes.fresh == nil {
		if err := d.roomLocked(c, n.bytes.item.Name); err != nil {
			return nil, err
		}
	}
	if err := d.likeLocked(c, n); err != nil {
		return nil, err
	}
	c.Make = protocol.ItemID(d.table.nextID())
	c.Item = protocol.ItemID(n.id)
	key, was := n.bytes.item.Name, complete(&n.bytes.item)
	d.touchLocked(d.table.byID[uint64(key.Folder)], c.By)
	if r := d.redirects[tid]; r != nil {
		c.before = r.refused
	}
	dec, err := d.decideLocked(c, func() (*protocol.World, error) {
		f, err := d.fileLocked(key)
		if err != nil {
			return nil, err
		}
		if f.Public == nil && f.Foreign != &n.bytes.item && n.bytes.item.State == protocol.Public {
			n.bytes.item.State = goneIfMissing(n)
		}
		return d.world(f, nil), nil
	})
	r := d.redirects[tid]
	if r != nil {
		defer d.leftLocked(r.made)
	}
	d.dropRedirectLocked(tid)
	if err = d.lookAgainLocked(n, c, tried{tid, asked, key, r}, dec, err); err != nil {
		return nil, err
	}
	if was && !complete(&n.bytes.item) {
		n.bytes.reopened.Store(true)
	}
	return d.grantLocked(n, c, dec, flags)
}

// goneIfMissing: the disk no longer has the item under its name: somebody took it away behind our back.
func goneIfMissing(n *node) protocol.State {
	if n.bytes.item.Links > 1 {
		return protocol.Public
	}
	return protocol.Gone
}

func stale(err error) bool {
	var r refused
	return errors.As(err, &r) && r.Reason == protocol.Stale
}

// likeLocked: a new version has its predecessor's owner, rights and attributes, as a file that is written in place keeps
// them.
func (d *desk) likeLocked(c *call, n *node) error {
	if !c.Open.Write || n.bytes.item.Match.Class.InPlace() {
		return nil
	}
	st, err := d.statLocked(n)
	c.mode, c.uid, c.gid, c.like = st.Mode&0o7777, st.UID, st.GID, n
	if c.By.Process.UID != 0 {
		c.mode = withoutPrivileges(c.mode)
	}
	return err
}

// grantLocked makes the handle of a granted open.
func (d *desk) grantLocked(n *node, c *call, dec protocol.Decision, flags uint32) (*handle, error) {
	h := &handle{node: n, party: c.By, read: c.Open.Read, write: c.Open.Write, append: c.Open.Append}
	switch dec.Access {
	case protocol.AccessClaim:
		h.become(claimHandle)
	case protocol.AccessWrite:
		h.become(writeHandle)
	case protocol.AccessInPlace:
		h.become(inPlaceHandle)
	case protocol.AccessLock:
		h.become(lockHandle)
	}
	if err := d.mayEmptyLocked(h, flags); err != nil {
		return nil, err
	}
	if d.putOffLocked(h, c.Open.Truncate) {
		flags &^= unix.O_TRUNC
	}
	if err := d.openForeignLocked(h, c, dec, flags); err != nil {
		d.unclaimLocked(n, c, dec)
		if refusal := (refused{}); errors.As(err, &refusal) {
			d.tornNowLocked(n)
		}
		return nil, err
	}
	d.attachLocked(h)
	return h, nil
}

// unclaimLocked gives a claim back whose open failed after all.
func (d *desk) unclaimLocked(n *node, c *call, dec protocol.Decision) {
	if dec.Access == protocol.AccessClaim && len(dec.Effects) > 0 {
		release := *c
		release.Op = protocol.OpReleased
		d.settleLocked(n, &release)
	}
}

// openBytesLocked opens what the handle reads and writes.
func (d *desk) openBytesLocked(h *handle, flags uint32) (err error) {
	b := h.node.bytes
	switch {
	case h.kind() == lockHandle:
		return nil
	case b.fresh != nil && h.kind() == inPlaceHandle && flags&unix.O_APPEND != 0:
		b.fresh.Close()
		b.fresh = nil
		return d.openBytesLocked(h, flags)
	case b.fresh != nil:
		h.file, b.fresh = b.fresh, nil // just made: there is nothing to truncate
		return nil
	case h.kind() == writeHandle && (b.copying || b.at == (backing.Object{}) && b.item.Derived):
		return d.openBaseLocked(h)
	case b.at == (backing.Object{}):
		return d.reopenLocked(h)
	}
	mode := int(flags & (unix.O_ACCMODE | unix.O_APPEND | unix.O_TRUNC))
	h.appends = h.kind() == inPlaceHandle && h.write && flags&unix.O_APPEND != 0
	if h.kind() == writeHandle {
		mode = unix.O_RDWR | int(flags&unix.O_TRUNC)
	}
	h.file, _, err = d.Store.Open(b.at, mode)
	if err == nil && flags&unix.O_TRUNC != 0 {
		b.saved.anew()
	}
	if errors.Is(err, syscall.ENOENT) {
		err = syscall.ESTALE
	}
	return err
}

// openForeignLocked is openBytesLocked of what may be written elsewhere meanwhile: what is public, or was until this open
// claimed it.
func (d *desk) openForeignLocked(h *handle, c *call, dec protocol.Decision, flags uint32) error {
	if err := d.openBytesLocked(h, flags); err != nil {
		if d.missingLocked(h.node) {
			d.lostLocked(h.node)
		}
		return err
	}
	f := h.file
	switch {
	case h.base != nil:
		f = h.base
	case h.kind() == claimHandle && len(dec.Effects) > 0 && !h.write, h.kind() == viewHandle:
	default:
		return nil
	}
	err := d.readableLocked(h.node, f, c)
	if err != nil {
		h.close()
	}
	return err
}

// openBaseLocked: a derived version reads as the one it starts from until its first write.
func (d *desk) openBaseLocked(h *handle) error {
	base := d.baseForLocked(h.node)
	if base == nil || base.bytes.at == (backing.Object{}) {
		return syscall.ESTALE
	}
	f, _, err := d.Store.Open(base.bytes.at, unix.O_RDONLY)
	h.base = f
	return err
}

// reopenLocked opens bytes without a name through a handle that has them.
func (d *desk) reopenLocked(h *handle) error {
	for _, o := range h.node.bytes.handles {
		if f := o.own(); f != nil {
			again, err := f.Reopen(unix.O_RDWR)
			h.file = again
			return err
		}
	}
	return syscall.ESTALE
}

// create makes or opens a name with O_CREAT.
func (d *desk) create(p *protocol.Party, tid uint32, parentID uint64, name string, flags uint32, c *call) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return nil, err
	}
	if reserved(parent, name) {
		return nil, d.refuseLocked(attempt{by: p, verb: "create", path: name}, &protocol.Refusal{Reason: protocol.Reserved})
	}
	if err = d.roomLocked(c, protocol.NameKey{Folder: protocol.FolderID(parentID), Name: name}); err != nil {
		return nil, err
	}
	d.touchLocked(parent, p)
	c.Open = openMode(flags, c.mode)
	c.Make = protocol.ItemID(d.table.nextID())
	var other *node
	dec, err := d.decideLocked(c, func() (*protocol.World, error) {
		f, n, err := d.lookLocked(parent, name)
		if err == nil && n != nil && n.kind != itemNode {
			other = n
			return nil, syscall.EEXIST
		}
		return d.world(f, nil), errors.Join(err, d.boundLocked(f, nil))
	})
	if other != nil && flags&unix.O_EXCL == 0 {
		return nil, syscall.ESTALE // not a file: let the kernel look again
	}
	if stale(err) {
		return nil, d.appearedLocked(protocol.NameKey{Folder: protocol.FolderID(parentID), Name: name}, tid, c)
	}
	d.dropRedirectLocked(tid)
	if err != nil {
		return nil, err
	}
	h, err := d.grantLocked(d.table.byID[uint64(dec.Item)], c, dec, flags)
	if err == nil && c.Open.Exclusive {
		d.markMadeLocked(p, parent, name, h)
	}
	return h, err
}

// appearedLocked sends a thread whose name has come into being meanwhile back to look at it: only then does the kernel ask
// whether it may open what is there. It looks again once; a name that comes and goes all the time is busy.
func (d *desk) appearedLocked(key protocol.NameKey, tid uint32, c *call) error {
	if r := d.redirects[tid]; r != nil && r.key == key {
		d.dropRedirectLocked(tid)
		return d.refuseLocked(attempt{by: c.By, verb: "create", path: d.pathLocked(key)},
			&protocol.Refusal{Reason: protocol.Busy, WhatNow: "others make and remove it all the time: try again"})
	}
	d.redirectLocked(tid, key, c, protocol.Decision{})
	d.redirects[tid].creates = true
	return syscall.ESTALE
}

// reserved: the control folder is not for programs.
func reserved(parent *node, name string) bool { return parent.id == rootID && name == backing.Control }
