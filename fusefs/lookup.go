package fusefs

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// found is the answer to a look-up: a node, with its attributes.
type found struct {
	node  *node
	stat  backing.Stat
	valid time.Duration // for how long the kernel may remember the attributes
	name  time.Duration // and a folder's name
}

// lookup resolves a name for a caller and counts a reference of the kernel's.
func (d *desk) lookup(p *protocol.Party, tid uint32, parentID uint64, name string) (found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return found{}, err
	}
	d.sweepLocked()
	d.touchLocked(parent, p)
	n, err := d.resolveLocked(p, tid, parent, name)
	if err != nil {
		return found{}, err
	}
	f, err := d.referLocked(n)
	if err == nil && n.kind == itemNode && n.bytes.missing {
		n.lookups--
		d.lostLocked(n)
		if n, err = d.resolveLocked(p, tid, parent, name); err == nil {
			f, err = d.referLocked(n)
		}
	}
	if err != nil {
		return found{}, err
	}
	if n.kind == itemNode {
		d.rememberLocked(tid, n, protocol.NameKey{Folder: protocol.FolderID(parentID), Name: name})
	}
	return f, nil
}

// resolveLocked is the node that a name means for a caller.
func (d *desk) resolveLocked(p *protocol.Party, tid uint32, parent *node, name string) (*node, error) {
	key := protocol.NameKey{Folder: protocol.FolderID(parent.id), Name: name}
	r := d.redirects[tid]
	if r != nil && r.key == key {
		if n := r.settled(); n != nil {
			return n, nil
		}
	}
	f, n, err := d.lookLocked(parent, name)
	switch {
	case err != nil:
		return nil, err
	case n != nil && n.kind != itemNode:
		return n, nil
	}
	c := d.call(protocol.OpOpen, p)
	i := protocol.Visible(d.world(f, nil), f, &c.Event)
	d.lookedLocked(f, p, i, r != nil && r.key == key)
	if i == nil {
		i = d.forOthersLocked(f, c)
	}
	if i == nil {
		if r != nil && r.key == key && !r.creates {
			d.dropRedirectLocked(tid) // the open fails: nothing is left to settle for it
		}
		return nil, syscall.ENOENT
	}
	if n = d.table.byID[uint64(i.ID)]; n == nil {
		return nil, syscall.ENOENT
	}
	if r != nil && r.key == key {
		d.pinLocked(r, n, p)
		if begun := r.settled(); begun != nil {
			return begun, nil
		}
	}
	return n, nil
}

// forOthersLocked is what a caller may look at, but not have: a claimed item with --when-claimed=busy; for the publisher's
// job what it published, for a minute; and for who could not settle it anyway.
func (d *desk) forOthersLocked(f *protocol.File, c *call) *protocol.Item {
	for n := len(f.Private) - 1; n >= 0; n-- {
		i := f.Private[n]
		if i.State != protocol.Claimed {
			continue
		}
		n := d.table.byID[uint64(i.ID)]
		if d.ClaimedBusy || d.publishedByLocked(n, c.By) || d.onlyLooksLocked(n, c.By) {
			return i
		}
	}
	return nil
}

// referLocked counts a reference and fills in the attributes.
func (d *desk) referLocked(n *node) (found, error) {
	st, err := d.statLocked(n)
	if err != nil {
		return found{}, err
	}
	n.lookups++
	return found{n, st, attrTimeout(n), d.nameTimeoutLocked(n)}, nil
}

// forget takes references back.
func (d *desk) forget(id, count uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweepLocked()
	if s := d.table.seen[id]; s != nil {
		if s.lookups -= min(count, s.lookups); s.lookups == 0 {
			d.table.leave(s)
			d.table.shrink()
		}
		return
	}
	if n := d.table.byID[id]; n != nil {
		n.lookups -= min(count, n.lookups)
		d.tidyLocked(n)
	}
}

// statLocked are a node's attributes now. An unfinished version has the inode number of the one it was made from: for its
// writer it is that file, and some compare (vim, sqlite).
func (d *desk) statLocked(n *node) (backing.Stat, error) {
	switch {
	case n.gone != nil:
		return *n.gone.Stat, nil
	case n.kind == folderNode:
		st, err := d.Store.Stat(n.object())
		return n.folder.asShown(st), err
	case n.kind != itemNode:
		return d.Store.Stat(n.object())
	}
	st, err := d.versionStatLocked(n)
	if base := d.table.byID[uint64(n.bytes.item.Base)]; base != nil && base.inode.Ino != 0 {
		st.ID.Ino = base.inode.Ino
	}
	return st, err
}

// versionStatLocked are the attributes of a version's own bytes. What has no name any more is looked at through whoever
// has it open, else remembered.
func (d *desk) versionStatLocked(n *node) (backing.Stat, error) {
	b := n.bytes
	if b.at != (backing.Object{}) {
		st, err := d.Store.Stat(b.at)
		if err == nil && st.ID == n.inode {
			b.last = b.asShown(st)
			return b.last, nil
		}
		if err == nil {
			err = syscall.ENOENT
		}
		b.missing = b.item.Private() && errors.Is(err, syscall.ENOENT)
		if b.last.Mode == 0 {
			return st, err
		}
	}
	if b.frozen {
		return b.last, nil
	}
	for _, h := range b.handles {
		if st, err := h.stat(); err == nil {
			return d.derivedStat(n, st), nil
		}
	}
	if base := d.table.byID[uint64(b.item.Base)]; b.item.Derived && base != nil {
		st, err := d.statLocked(base)
		return d.derivedStat(n, st), err
	}
	if b.last.Mode == 0 {
		return b.last, syscall.ESTALE
	}
	return b.last, nil
}

// derivedStat: a version without bytes looks like its base, as a file of its own.
func (d *desk) derivedStat(n *node, st backing.Stat) backing.Stat {
	if n.bytes.item.Derived {
		st.Nlink = 1
		st.Mode = unix.S_IFREG | n.bytes.mode
	}
	return st
}
