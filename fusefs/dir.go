package fusefs

import (
	"sort"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// listing is what one open folder descriptor shows: taken at its first read and again after a rewind, so that offsets
// stay good while names come and go.
type listing struct {
	folder  *node
	uid     uint32 // who reads it
	counted int    // names that count for him
	names   packed
	taken   bool

	self, parent uint64 // inode numbers, for "." and ".."
}

// list takes the names a caller sees in a folder.
func (d *desk) list(p *protocol.Party, l *listing) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	folder := l.folder
	if folder.gone != nil {
		return syscall.ENOENT
	}
	d.touchLocked(folder, p)
	for _, f := range folder.folder.files {
		d.settleDeadLocked(f)
	}
	for name := range folder.folder.lent {
		d.settleDeadLocked(d.knownLocked(folder, name))
	}
	d.settleMarksLocked(folder)
	path, hidden := folder.path(), d.hiddenInodesLocked(d.call(protocol.OpOpen, p))
	l.names = packed{}
	seen, complete := map[string]struct{}{}, 0
	err = d.Store.List(path, func(e backing.Entry) error {
		if d.listedLocked(folder, path, e, hidden) {
			l.names.add(e)
			if folder.folder.files[e.Name] != nil {
				seen[e.Name] = struct{}{}
			}
		}
		if _, ok := folder.folder.settled[e.Ino]; ok {
			complete++
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.addPrivateLocked(p, l, seen)
	l.taken = true
	if len(folder.folder.settled) > fewWhole+2*complete {
		err = d.forgetRemovedLocked(folder)
	}
	l.self, l.parent = d.numberLocked(folder), d.numberLocked(folder)
	if folder.parent != nil {
		l.parent = d.numberLocked(folder.parent)
	}
	return err
}

// numberLocked is a folder's inode number as stat(2) has it.
func (d *desk) numberLocked(folder *node) uint64 {
	if folder.inode.Ino == 0 { // the root was not looked up
		if st, err := d.Store.Stat(folder.object()); err == nil {
			return st.Ino
		}
	}
	return folder.inode.Ino
}

// hiddenInodesLocked are the inodes of items claimed by others that have further names on the disk.
func (d *desk) hiddenInodesLocked(c *call) map[uint64]struct{} {
	var hidden map[uint64]struct{}
	for owner, e := range d.owned {
		if c.SeesClaimed || protocol.Kin(d.Callers.Party(owner), c.By) {
			continue
		}
		for n := range e.items {
			if n.bytes.item.Links > 1 && n.bytes.item.State == protocol.Claimed {
				if hidden == nil {
					hidden = map[uint64]struct{}{}
				}
				hidden[n.inode.Ino] = struct{}{}
			}
		}
	}
	return hidden
}

// listedLocked tells whether a name on the disk is shown to everybody.
func (d *desk) listedLocked(folder *node, path string, e backing.Entry, hidden map[uint64]struct{}) bool {
	if folder.id == rootID && e.Name == backing.Control {
		return false
	}
	m := d.Rules.At(path, e.Name)
	if m.Unlisted {
		return false
	}
	if e.Type != unix.DT_REG && e.Type != unix.DT_UNKNOWN {
		return true
	}
	if _, ok := hidden[e.Ino]; ok {
		return false
	}
	if m.Class.InPlace() {
		return true
	}
	_, settled := folder.folder.settled[e.Ino]
	switch {
	case d.ghostLocked(folder, e.Name):
		return false
	case settled:
		return m.Temp != protocol.TempByName || m.Class.Versioned()
	}
	return (m.Temp != protocol.TempByName || d.knownShownLocked(path, e)) && d.completeLocked(folder, path, e)
}

// ghostLocked: a file that was made to be locked is in no listing.
func (d *desk) ghostLocked(folder *node, name string) bool {
	if len(d.ghosts) == 0 {
		return false
	}
	_, ok := d.ghosts[protocol.NameKey{Folder: protocol.FolderID(folder.id), Name: name}]
	return ok
}

// addPrivateLocked adds what only this caller sees, but for what he has seen.
func (d *desk) addPrivateLocked(p *protocol.Party, l *listing, seen map[string]struct{}) {
	c := d.call(protocol.OpOpen, p)
	var more []string
	for name, f := range l.folder.folder.files {
		if _, ok := seen[name]; !ok && d.showsLocked(f, c) {
			more = append(more, name)
		}
	}
	sort.Strings(more)
	for _, name := range more {
		l.names.add(backing.Entry{Name: name, Ino: 1, Type: unix.DT_REG})
	}
}

func (d *desk) showsLocked(f *protocol.File, c *call) bool {
	if _, _, err := d.lookLocked(d.table.byID[uint64(f.Name.Folder)], f.Name.Name); err != nil {
		return false
	}
	if protocol.Listed(d.world(f, nil), f, &c.Event) {
		return true
	}
	i := d.forOthersLocked(f, c)
	return i != nil && !f.Match.Unlisted && (d.ClaimedBusy || d.onlyLooksLocked(d.table.byID[uint64(i.ID)], c.By))
}
