package fusefs

import (
	"errors"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// link gives a node a second name. It may be found that something must be saved first.
func (d *desk) link(p *protocol.Party, id, parentID uint64, name string) (f found, err error) {
	err = d.lasting(func() error {
		f, err = d.linkLocked(p, id, parentID, name)
		return err
	})
	return f, err
}

func (d *desk) linkLocked(p *protocol.Party, id, parentID uint64, name string) (found, error) {
	n, err := d.nodeLocked(id)
	if err != nil {
		return found{}, err
	}
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return found{}, err
	}
	if reserved(parent, name) {
		return found{}, d.refuseLocked(attempt{by: p, verb: "link", path: name}, &protocol.Refusal{Reason: protocol.Reserved})
	}
	d.touchLocked(parent, p)
	if n.kind != itemNode {
		return d.linkOtherLocked(p, n, parent, name)
	}
	c := d.call(protocol.OpLink, p)
	c.Item, c.NoReplace = protocol.ItemID(id), true
	dec, err := d.decideLocked(c, func() (*protocol.World, error) { return d.linkWorldLocked(n, parent, name) })
	if err != nil {
		return found{}, err
	}
	if dec.Access == protocol.AccessInPlace {
		if err = d.noteShownLocked(n, parent.key(name)); err != nil {
			return found{}, err
		}
		if err = d.Store.Link(n.bytes.at, backing.Object{Folder: parent.path(), Name: name}); err != nil {
			return found{}, err
		}
		d.oweLocked(parent.key(name), parent.path(), true)
		n.bytes.item.Links++
		n.nameLocked(n.bytes.item.Name)
		n.nameLocked(parent.key(name))
		if err = d.afterLinkLocked(n, dec, c); err != nil {
			return found{}, errors.Join(err, d.Store.Remove(backing.Object{Folder: parent.path(), Name: name}))
		}
	}
	d.markMadeLocked(p, parent, name, nil)
	return d.referLocked(n)
}

// afterLinkLocked is what the decision says of the file now that it has the name.
func (d *desk) afterLinkLocked(n *node, dec protocol.Decision, c *call) error {
	for _, x := range dec.Then {
		x.Next.Links = n.bytes.item.Links
		if err := d.carryOutLocked(&x, c); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) linkWorldLocked(n, parent *node, name string) (*protocol.World, error) {
	f, err := d.fileLocked(n.bytes.item.Name)
	if err != nil {
		return nil, err
	}
	t, other, err := d.lookLocked(parent, name)
	if err == nil && other != nil && other.kind != itemNode {
		err = syscall.EEXIST
	}
	if err == nil {
		err = d.unsavedLocked(&n.bytes.item, t)
	}
	return d.world(f, t), err
}

func (d *desk) linkOtherLocked(p *protocol.Party, n, parent *node, name string) (found, error) {
	if n.kind != otherNode {
		return found{}, syscall.EPERM
	}
	if err := d.Store.Link(n.object(), backing.Object{Folder: parent.path(), Name: name}); err != nil {
		return found{}, err
	}
	d.oweLocked(parent.key(name), parent.path(), true)
	d.markMadeLocked(p, parent, name, nil)
	return d.referLocked(n)
}

// freeAliasLocked: a name that link(2) left behind, for an item that is settled by now, means nothing any more as soon as
// it is opened. Until then it is there to be removed, as its maker is about to do.
func (d *desk) freeAliasLocked(key protocol.NameKey, n *node) {
	i := &n.bytes.item
	if i.State != protocol.Gone || key == (protocol.NameKey{}) {
		return
	}
	if f := d.findLocked(key); f.Stands(i) {
		d.disownLocked(key)
		f.Unalias(i)
		d.keepLocked(n, -1)
	}
	d.trimLocked(key)
}
