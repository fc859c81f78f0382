package fusefs

import (
	"errors"
	"slices"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// What somebody removed from the control folder by hand: an item's bytes are lost, and that is told; folders are made
// again.

// errLost: somebody removed the item's bytes from the control folder.
var errLost = errors.New("its bytes were removed from the backing")

// amissLocked: the disk has not got what a move was about. Either the item is lost, or the folder it was to go to.
func (d *desk) amissLocked(n *node, x *protocol.Effect, err error) error {
	if d.missingLocked(n) {
		d.lostLocked(n)
		return errAgain
	}
	if repaired := d.repairLocked(); repaired != nil {
		return err
	}
	return d.moveLocked(n, x)
}

// missingLocked tells whether the disk no longer has an item where it was put.
func (d *desk) missingLocked(n *node) bool {
	if n.bytes.at == (backing.Object{}) {
		return false
	}
	_, err := d.Store.Stat(n.bytes.at)
	return errors.Is(err, syscall.ENOENT)
}

// lostLocked takes notice that a private item's bytes are gone. Who has it open reads on; what is written to it is told
// so at close. A public one that is gone was simply removed.
func (d *desk) lostLocked(n *node) {
	if !n.bytes.item.Private() || n.bytes.lost {
		return
	}
	gone := n.bytes.item
	c := d.call(protocol.OpExpired, nil)
	c.what, c.why = "lost", "somebody outside the mount removed "+n.bytes.at.String()+" from the backing: it was "+gone.State.String()
	if p := d.Callers.Party(gone.Owner); p != nil {
		c.why += " for " + called(p)
	}
	gone.State, gone.Owner = protocol.Gone, 0
	d.finishLocked(n, c, gone)
	n.bytes.lost, n.bytes.unsettled = true, nil
	d.table.identify(n, backing.ID{}) // its further names, if any, are a file of their own now
	d.tidyLocked(n)
}

// finishLocked makes an item gone that the disk has not got any more.
func (d *desk) finishLocked(n *node, c *call, gone protocol.Item) {
	x := &protocol.Effect{Kind: protocol.Remove, Next: gone, At: gone.Name}
	if err := d.carryOutLocked(x, c); err != nil {
		d.Log.Error("an item that is gone could not be forgotten", "path", d.pathLocked(gone.Name), "error", err)
	}
}

// repairLocked makes the folders of the control folder again that somebody removed. It fails if that itself is gone.
func (d *desk) repairLocked() error {
	for _, area := range append(protocol.Areas(), "folders", "replaced", "tokens", "marks") {
		if err := d.Store.MakePrivate(backing.Control + "/" + area); err != nil {
			return err
		}
	}
	if err := d.Store.MakePrivate(tokenFolder(d.tokens.block)); err != nil {
		return err
	}
	d.slots.forgetGone()
	return d.repairRegistryLocked()
}

// repairRegistryLocked writes the entries of the registry of folders again that are not as they should be.
func (d *desk) repairRegistryLocked() error {
	var err error
	for key, n := range d.keys {
		at := backing.Object{Folder: foldersArea, Name: key}
		if key == rootKey || n.gone != nil {
			continue
		}
		if path, errRead := d.Store.Readlink(at); errRead == nil && path == n.path() {
			continue
		}
		d.Log.Warn("the registry of folders was changed from outside and is put right", "key", key, "folder", n.path())
		err = errors.Join(err, d.writeKeyLocked(key, n))
	}
	return err
}

// forgetGone forgets the folders that are not on the disk any more, so that they are made when they are needed.
func (s *slots) forgetGone() {
	for folder := range s.names {
		if _, err := s.store.Stat(object(folder)); !errors.Is(err, syscall.ENOENT) {
			continue
		}
		s.store.Forget(folder)
		delete(s.names, folder)
		s.idle = slices.DeleteFunc(s.idle, func(idle string) bool { return idle == folder })
	}
}
