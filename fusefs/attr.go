package fusefs

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// mayKnowLocked: a private item is nobody's business but its owner's kin's, also when it is asked for by node id (a
// descriptor of another process, a handle, a stale entry). Its publisher may look at it for a while.
func (d *desk) mayKnowLocked(n *node, p *protocol.Party) error {
	if n.kind != itemNode {
		return nil
	}
	i := &n.bytes.item
	if !i.Private() {
		return nil
	}
	c := d.call(protocol.OpOpen, p)
	switch {
	case i.Owner != 0 && protocol.Kin(d.Callers.Party(i.Owner), p):
		return nil
	case i.State == protocol.Claimed && (c.SeesClaimed || d.ClaimedBusy || d.publishedByLocked(n, p) || d.onlyLooksLocked(n, p)):
		return nil
	case i.UID == p.Process.UID && (i.State == protocol.Parked || i.State == protocol.Abandoned && i.Match.Resumable):
		return nil
	case i.Owner == 0 && d.publishedByLocked(n, p):
		return nil
	}
	return syscall.ENOENT
}

// mayReachLocked: who comes with a descriptor of the node has what it asks about; anybody else asks by node id.
func (d *desk) mayReachLocked(n *node, p *protocol.Party, fh uint64) error {
	if h := d.handles[fh]; h != nil && h.node == n {
		return nil
	}
	return d.mayKnowLocked(n, p)
}

// getattr are the attributes of a node, or of the very bytes a descriptor has.
func (d *desk) getattr(p *protocol.Party, id, fh uint64) (found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.nodeLocked(id)
	if err != nil {
		return found{}, err
	}
	if n.kind == controlNode {
		return d.controlFound(n), nil
	}
	if err = d.mayReachLocked(n, p, fh); err != nil {
		return found{}, err
	}
	st, err := d.statLocked(n)
	return found{node: n, stat: st, valid: attrTimeout(n)}, err
}

// change is what setattr(2) and its kin ask for; nil or negative: unchanged.
type change struct {
	mode         *uint32
	uid, gid     int
	atime, mtime *unix.Timespec
	size         *uint64
}

// setattr changes attributes in place. A new length is a write: by descriptor on the version that is open, by path a new
// version, at once.
func (d *desk) setattr(p *protocol.Party, tid uint32, id, fh uint64, ch change) (found, error) {
	if ch.size != nil {
		if err := d.setSize(p, tid, id, fh, int64(*ch.size)); err != nil {
			return found{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.nodeLocked(id)
	if err != nil {
		return found{}, err
	}
	if n.kind == controlNode {
		return found{}, d.refuseLocked(attempt{by: p, verb: "change attributes", path: backing.Control}, &protocol.Refusal{Reason: protocol.Reserved})
	}
	if err = d.mayReachLocked(n, p, fh); err == nil {
		err = d.fencedLocked(n, p, "change attributes")
	}
	if err != nil {
		return found{}, err
	}
	if err = d.changeLocked(n, ch); err != nil {
		return found{}, err
	}
	if n.kind == itemNode && ch.mtime != nil {
		n.bytes.timesSet = true
	}
	st, err := d.statLocked(n)
	return found{node: n, stat: st, valid: attrTimeout(n)}, err
}

// attributes is what both an object with a name and an open file can have changed.
type attributes interface {
	Chmod(mode uint32) error
	Chown(uid, gid int) error
	Utimens(atime, mtime *unix.Timespec) error
	GetXattr(name string, buf []byte) (int, error)
	SetXattr(name string, value []byte, flags int) error
	ListXattr(buf []byte) (int, error)
	RemoveXattr(name string) error
}

// named changes an object by its name.
type named struct {
	store *backing.Store
	at    backing.Object
}

func (n named) Chmod(mode uint32) error                   { return n.store.Chmod(n.at, mode) }
func (n named) Chown(uid, gid int) error                  { return n.store.Chown(n.at, uid, gid) }
func (n named) Utimens(atime, mtime *unix.Timespec) error { return n.store.Utimens(n.at, atime, mtime) }

func (n named) GetXattr(name string, buf []byte) (int, error) {
	return n.store.GetXattr(n.at, name, buf)
}

func (n named) SetXattr(name string, value []byte, flags int) error {
	return n.store.SetXattr(n.at, name, value, flags)
}
func (n named) ListXattr(buf []byte) (int, error) { return n.store.ListXattr(n.at, buf) }
func (n named) RemoveXattr(name string) error     { return n.store.RemoveXattr(n.at, name) }

func (d *desk) changeLocked(n *node, ch change) error {
	target, err := d.attributesLocked(n)
	if err != nil {
		return err
	}
	if ch.uid >= 0 || ch.gid >= 0 {
		if err = target.Chown(ch.uid, ch.gid); err != nil {
			return err
		}
	}
	if ch.mode != nil {
		if err = target.Chmod(*ch.mode); err != nil {
			return err
		}
	}
	if ch.atime != nil || ch.mtime != nil {
		err = target.Utimens(ch.atime, ch.mtime)
	}
	if err == nil && ch.mtime != nil && n.kind == itemNode {
		d.touchedLocked(n)
	}
	return err
}

func (d *desk) attributesLocked(n *node) (attributes, error) {
	if n.gone != nil {
		return n.gone, nil
	}
	if n.kind != itemNode || n.bytes.at != (backing.Object{}) {
		return named{d.Store, n.object()}, nil
	}
	for _, h := range n.bytes.handles {
		if f := h.own(); f != nil {
			return f, nil
		}
	}
	if n.bytes.item.Derived {
		return nothing{bytes: n.bytes}, nil
	}
	return &remembered{Stat: &n.bytes.last}, nil
}

// nothing takes the attributes of a version that has no bytes yet, for when it gets some.
type nothing struct {
	noXattrs
	bytes *bytes
}

func (n nothing) Chmod(mode uint32) error { n.bytes.mode = mode; return nil }
func (n nothing) Chown(uid, gid int) error {
	if uid >= 0 {
		n.bytes.uid = uint32(uid)
	}
	if gid >= 0 {
		n.bytes.gid = uint32(gid)
	}
	return nil
}
func (n nothing) Utimens(atime, mtime *unix.Timespec) error { return nil }

// setSize is ftruncate(2) with a descriptor, else truncate(2).
func (d *desk) setSize(p *protocol.Party, tid uint32, id, fh uint64, size int64) error {
	d.mu.Lock()
	h := d.handles[fh]
	n, err := d.nodeLocked(id)
	d.mu.Unlock()
	switch {
	case err != nil:
		return err
	case n.kind != itemNode:
		return syscall.EINVAL
	case h != nil && h.node == n:
		return d.resizeRecord(h, byteUse{tid: tid, uid: p.Process.UID, gid: p.GID}, size)
	}
	return d.truncate(p, tid, n, size)
}

// truncate is truncate(2) by path. A version that only its owner knows changes in place; a public one gets a successor
// of the new length, and the caller is sent to it.
func (d *desk) truncate(p *protocol.Party, tid uint32, n *node, size int64) error {
	d.mu.Lock()
	st, err := d.statLocked(n)
	d.mu.Unlock()
	switch {
	case err != nil:
		return err
	case st.Size == size && !n.bytes.item.Match.Vector.Class.InPlace():
		return d.touch(n)
	}
	h, err := d.open(p, tid, n.id, unix.O_WRONLY|toResize)
	made := d.takeRedirect(tid)
	if made != nil {
		d.mu.Lock()
		h, err = d.grantLocked(made, d.openCall(p, unix.O_WRONLY), protocol.Decision{Access: protocol.AccessWrite}, unix.O_WRONLY)
		d.mu.Unlock()
	}
	if err != nil {
		return err
	}
	err = d.resizeRecord(h, byteUse{}, size)
	if late := d.finishTruncate(h); err == nil {
		err = late
	}
	if err == nil && made != nil {
		err = syscall.ESTALE // the name means the new version now: let the kernel look
	}
	return err
}

// touch: a truncation to the length that a file has changes nothing but its times, and needs no new version.
func (d *desk) touch(n *node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changeLocked(n, change{uid: -1, gid: -1, mtime: &unix.Timespec{Nsec: unix.UTIME_NOW}})
}

func (d *desk) openCall(p *protocol.Party, flags uint32) *call {
	c := d.call(protocol.OpOpen, p)
	c.Open = openMode(flags, 0)
	return c
}

// takeRedirect is the version that a redirected open of this thread made.
func (d *desk) takeRedirect(tid uint32) *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.redirects[tid]
	if r == nil {
		return nil
	}
	d.dropRedirectLocked(tid)
	return r.made
}

// finishTruncate closes as a program would: the length was asked for, so it is no promise of bytes to come.
func (d *desk) finishTruncate(h *handle) error {
	h.flushed.Store(true)
	d.mu.Lock()
	h.node.bytes.announced, h.node.bytes.short = 0, false
	d.mu.Unlock()
	err := d.syncBytes(h)
	h.close() // as release does
	return errors.Join(err, d.lasting(func() error {
		d.releaseLocked(h)
		return nil
	}))
}

// folderTimeout is for how long the kernel may remember a folder's name and attributes without asking.
const folderTimeout = time.Second

// attrTimeout is for how long the kernel may remember a node's attributes. Folders and public files change only through the
// mount, which the kernel notices itself; what a foreign hand changes in the backing is seen a second later.
func attrTimeout(n *node) time.Duration {
	switch {
	case n.kind == controlNode:
		return 0
	case n.kind == itemNode && n.bytes.item.State != protocol.Public:
		return 0
	}
	return time.Second
}
