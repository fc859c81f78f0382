package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// unlink removes a name of a file or of anything else that is no folder.
func (d *desk) unlink(p *protocol.Party, parentID uint64, name string) error {
	return d.lasting(func() error { return d.unlinkLocked(p, parentID, name) })
}

func (d *desk) unlinkLocked(p *protocol.Party, parentID uint64, name string) error {
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return err
	}
	d.touchLocked(parent, p)
	defer d.lookAtMarkLocked(parent.key(name))
	if other, err := d.otherLocked(parent, name); err != nil || other != nil {
		return d.unlinkOtherLocked(p, parent, name, other, err)
	}
	c := d.call(protocol.OpUnlink, p)
	dec, err := d.decideLocked(c, func() (*protocol.World, error) {
		f, _, err := d.lookLocked(parent, name)
		if err != nil {
			return nil, err
		}
		w := d.world(f, nil)
		return w, d.mayTakeAwayLocked(parent, protocol.Visible(w, f, &c.Event), p)
	})
	for _, x := range dec.Effects {
		if n := d.table.byID[uint64(x.Next.ID)]; n != nil {
			d.tidyLocked(n)
		}
	}
	return err
}

// otherLocked is the node under a name if the disk has something there that is no regular file.
func (d *desk) otherLocked(parent *node, name string) (*node, error) {
	_, n, err := d.lookLocked(parent, name)
	if err != nil || n == nil || n.kind == itemNode {
		return nil, err
	}
	return n, nil
}

func (d *desk) unlinkOtherLocked(p *protocol.Party, parent *node, name string, n *node, err error) error {
	switch {
	case err != nil:
		return err
	case n.kind == folderNode:
		return syscall.EISDIR
	}
	if err = d.leaveLocked(p, parent, name, "remove"); err != nil {
		return err
	}
	at := backing.Object{Folder: parent.path(), Name: name}
	st, err := d.Store.Stat(at)
	if err == nil {
		err = d.Store.Remove(at)
	}
	if err == nil {
		d.goneLocked(n, st)
		d.oweLocked(parent.key(name), at.Folder, false)
	}
	return err
}

// maker makes something that is no regular file.
type maker func(at backing.Object) error

// make makes a folder, link or special file under a free name, and counts a reference to it.
func (d *desk) make(p *protocol.Party, parentID uint64, name string, create maker) (f found, err error) {
	err = d.lasting(func() error {
		f, err = d.makeNameLocked(p, parentID, name, create)
		return err
	})
	return f, err
}

func (d *desk) makeNameLocked(p *protocol.Party, parentID uint64, name string, create maker) (found, error) {
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return found{}, err
	}
	if reserved(parent, name) {
		return found{}, d.refuseLocked(attempt{by: p, verb: "make", path: name}, &protocol.Refusal{Reason: protocol.Reserved})
	}
	d.touchLocked(parent, p)
	_, err = d.decideLocked(d.call(protocol.OpTake, p), func() (*protocol.World, error) {
		f, n, err := d.lookLocked(parent, name)
		if err == nil && n != nil && (n.kind != itemNode || f.Public != nil) {
			err = syscall.EEXIST
		}
		return d.world(f, nil), err
	})
	if err != nil {
		return found{}, err
	}
	at := backing.Object{Folder: parent.path(), Name: name}
	if err = create(at); err != nil {
		return found{}, err
	}
	f, err := d.lookAtMadeLocked(parent, name)
	if err != nil { // who made it is told that there is none
		_ = errors.Join(d.Store.Remove(at), d.Store.Rmdir(at))
	}
	if err == nil {
		d.oweLocked(parent.key(name), at.Folder, true)
		d.markMadeLocked(p, parent, name, nil)
	}
	return f, err
}

func (d *desk) lookAtMadeLocked(parent *node, name string) (found, error) {
	_, n, err := d.lookLocked(parent, name)
	if err != nil || n == nil {
		return found{}, errors.Join(err, syscall.ENOENT)
	}
	return d.referLocked(n)
}

// rename moves a name. Both names' Files are looked at in one decision. It may be found that something must be saved first.
func (d *desk) rename(p *protocol.Party, from, to backing.Object, fromID, toID uint64, flags uint32) error {
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return syscall.EINVAL
	}
	return d.lasting(func() error { return d.renameLocked(p, from, to, fromID, toID, flags) })
}

func (d *desk) renameLocked(p *protocol.Party, from, to backing.Object, fromID, toID uint64, flags uint32) error {
	src, err := d.folderLocked(fromID)
	if err != nil {
		return err
	}
	dst, err := d.folderLocked(toID)
	if err != nil {
		return err
	}
	if reserved(src, from.Name) || reserved(dst, to.Name) {
		return d.refuseLocked(attempt{by: p, verb: "rename", path: backing.Control}, &protocol.Refusal{Reason: protocol.Reserved})
	}
	d.touchLocked(src, p)
	defer d.lookAtMarkLocked(src.key(from.Name))
	defer d.lookAtMarkLocked(dst.key(to.Name))
	other, err := d.otherLocked(src, from.Name)
	if err != nil {
		return err
	}
	if other != nil {
		return d.renameOtherLocked(p, src, dst, other, from.Name, to.Name, flags)
	}
	return d.renameItemLocked(p, src, dst, from.Name, to.Name, flags)
}

func (d *desk) renameItemLocked(p *protocol.Party, src, dst *node, from, to string, flags uint32) error {
	c := d.call(protocol.OpRename, p)
	c.NoReplace, c.Exchange = flags&unix.RENAME_NOREPLACE != 0, flags&unix.RENAME_EXCHANGE != 0
	if src == dst && from == to {
		return nil
	}
	switch other, err := d.otherLocked(dst, to); {
	case err != nil:
		return err
	case other != nil && c.Exchange:
		return d.renameOtherLocked(p, dst, src, other, to, from, flags)
	case other != nil && other.kind == folderNode:
		return syscall.EISDIR
	case other != nil && c.NoReplace:
		return syscall.EEXIST
	}
	_, err := d.decideLocked(c, func() (*protocol.World, error) { return d.renameWorldLocked(c, src, dst, from, to) })
	return err
}

// renameWorldLocked is both names, and what the caller may do with them.
func (d *desk) renameWorldLocked(c *call, src, dst *node, from, to string) (*protocol.World, error) {
	f, _, err := d.lookLocked(src, from)
	if err != nil {
		return nil, err
	}
	t, _, err := d.lookLocked(dst, to)
	if err != nil {
		return nil, err
	}
	if archives(t, f) && !c.NoReplace && !c.Exchange {
		if t, err = d.freeFileLocked(dst, to); err != nil {
			return nil, err
		}
	}
	w := d.world(f, t)
	if err = d.unsavedLocked(protocol.Visible(w, f, &c.Event), t); err != nil {
		return nil, err
	}
	if err = d.mayTakeAwayLocked(src, protocol.Visible(w, f, &c.Event), c.By); err == nil {
		err = d.mayTakeAwayLocked(dst, t.Public, c.By)
	}
	return w, err
}

// archives: the target is a taken name in an archive, which keeps both.
func archives(t, from *protocol.File) bool {
	return t.Public != nil && t.Match.OnCollision == protocol.CollideKeepBoth && t.Match.Class == protocol.ClassArchive &&
		from.Public != t.Public && t.Match.Class.InPlace()
}
