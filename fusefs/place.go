package fusefs

import (
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

const (
	foldersArea  = backing.Control + "/folders"  // registry: folder key → path, as symlinks
	replacedArea = backing.Control + "/replaced" // versions that were written over
	marksArea    = backing.Control + "/marks"    // whose marks are
	tokensArea   = backing.Control + "/tokens"   // one folder, named after the last block of fencing tokens that was set aside
)

// placeLocked is where an item in this state belongs, with the folder for it made.
func (d *desk) placeLocked(i *protocol.Item) (backing.Object, error) {
	parent := d.table.byID[uint64(i.Name.Folder)]
	if parent == nil {
		return backing.Object{}, syscall.ESTALE
	}
	if !i.Private() {
		return backing.Object{Folder: parent.path(), Name: i.Name.Name}, nil
	}
	key, err := d.keyLocked(parent)
	if err != nil {
		return backing.Object{}, err
	}
	p := protocol.Place{State: i.State, Folder: key, Owner: protocol.Process{UID: i.UID}}
	if i.State == protocol.Held {
		p.Barrier = i.Barrier
	}
	if o := d.Callers.Party(i.Owner); o != nil {
		line := d.lineOf(o)
		p.Owner, p.Heirs = line.Process, line.Heirs
	}
	return d.slotLocked(p, i.Name.Name)
}

// lineOf is a party and its heirs as the disk names them.
func (d *desk) lineOf(p *protocol.Party) protocol.Line {
	l := protocol.Line{Process: p.Process}
	heir := d.Callers.Heir(p.ID)
	for n := 0; n < len(l.Heirs) && heir != nil; n++ {
		l.Heirs[n] = protocol.Heir{PID: heir.Process.PID, Start: heir.Process.Start}
		heir = d.Callers.Heir(heir.ID)
	}
	return l
}

// slotLocked picks the first of the place's folders in which the name is free.
func (d *desk) slotLocked(p protocol.Place, name string) (backing.Object, error) {
	for {
		at := backing.Object{Folder: backing.Control + "/" + p.State.Area() + "/" + p.Dir(), Name: name}
		if d.slots.free(at.Folder, name) {
			return at, d.slots.enter(at)
		}
		p.Slot++
	}
}

func (d *desk) pathLocked(n protocol.NameKey) string {
	parent := d.table.byID[uint64(n.Folder)]
	if parent == nil {
		return n.Name
	}
	if p := parent.path(); p != "" {
		return p + "/" + n.Name
	}
	return n.Name
}

// targetLocked is where the item goes, and whether something there is written over.
func (d *desk) targetLocked(x *protocol.Effect) (backing.Object, backing.How, error) {
	over := d.table.byID[uint64(x.Over)]
	if x.Over != 0 && over != nil && x.Next.Private() {
		return over.bytes.at, backing.Replace, nil
	}
	to, err := d.placeLocked(&x.Next)
	if err != nil || x.Over == 0 {
		return to, backing.NoReplace, err
	}
	return to, backing.Replace, nil
}
