package checkup

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// item is a private item that was found.
type item struct {
	*placed
	name string
	path string
	stat backing.Stat
	note protocol.Note
}

func (c *checkup) listItem(p *placed, name string) {
	st, path, ok := c.stat(p.path, name)
	switch {
	case !ok:
	case p.State == protocol.Quarantined && (st.IsFolder() || st.Mode&unix.S_IFMT == unix.S_IFLNK): // a mark
	case st.IsFolder():
		c.find("item-folder", path, "a place holds files only")
	case !st.IsRegular():
		c.find("item-irregular", path, "it is no regular file, and was never handed over by airlockfs")
	default:
		c.items = append(c.items, item{p, name, path, st, c.note(backing.Object{Folder: p.path, Name: name}, path)})
	}
}

// note reads a note and looks whether this version understands it.
func (c *checkup) note(at backing.Object, path string) protocol.Note {
	text, err := c.store.Note(at)
	if c.failed(path, err) {
		return protocol.Note{}
	}
	n, err := protocol.DecodeNote(text)
	if err != nil {
		c.find("note-unreadable", path, "its note can't be read: %v", err)
		return protocol.Note{}
	}
	if _, err := protocol.ParseClass(n.Class); n.Class != "" && err != nil {
		c.find("note-class", path, "its note names the class %q, which this version does not know", n.Class)
	}
	if n.Taint != "" && protocol.ParseTaint(n.Taint) == protocol.NoTaint {
		c.find("note-taint", path, "its note names the failure %q, which this version does not know", n.Taint)
	}
	if n.Attempts < 0 {
		c.find("note-attempts", path, "its note counts %d attempts", n.Attempts)
	}
	return n
}

func (c *checkup) checkItems() {
	for i := range c.items {
		it := &c.items[i]
		c.checkInode(it)
		c.checkOwner(it)
		c.checkHome(it)
		c.checkHeld(it)
		if it.State == protocol.Quarantined && it.note.Taint == "" {
			c.find("quarantine-unexplained", it.path, "its note does not say why it is here")
		}
	}
}

// checkInode looks whether an item is in two places (I4). A claimed item may have further names in public folders, but
// not the one it goes back to.
func (c *checkup) checkInode(it *item) {
	if first, seen := c.inodes[it.stat.ID]; seen {
		c.find("item-twice", it.path, "it is the same file as %q", first)
	}
	c.inodes[it.stat.ID] = it.path
	at, ok := c.publicName(it.placed, it.name)
	if !ok {
		return
	}
	if st, err := c.store.Stat(at); err == nil && st.ID == it.stat.ID {
		c.find("item-also-public", it.path, "the same file is public as %q", join(at.Folder, at.Name))
	}
}

// checkOwner looks at who has an item that somebody must have.
func (c *checkup) checkOwner(it *item) {
	o := it.Owner
	switch {
	case it.State != protocol.Claimed && it.State != protocol.Staged:
	case o.PID == 0:
		if it.State == protocol.Claimed {
			c.find("claim-unowned", it.path, "it is claimed by nobody that is known")
		}
	case !c.facts.Here(o):
		c.find("item-owner-earlier", it.path, "it belonged to process %d of another host, or before the last boot", o.PID)
	case !c.facts.Alive(o):
		c.find("item-owner-dead", it.path, "it belonged to process %d, which has ended while no daemon served", o.PID)
	}
}

// checkHome looks whether a claim can go back.
func (c *checkup) checkHome(it *item) {
	if it.note.Home == "" {
		return
	}
	key, name, ok := strings.Cut(it.note.Home, "/")
	_, known := c.keys[key]
	if !ok || !known || name == "" || strings.Contains(name, "/") {
		c.find("note-home", it.path, "its note says that it goes back to %q, which is no name in a known folder", it.note.Home)
	}
}

// checkHeld looks whether something still holds an item back.
func (c *checkup) checkHeld(it *item) {
	switch {
	case it.State != protocol.Held:
	case it.Barrier == protocol.BarrierOlder && !c.hasNewer(it):
		c.find("held-alone", it.path, "it waits behind a newer file of its name, and there is none")
	case it.Barrier == protocol.BarrierQuiet && it.note.Until.Before(c.now):
		c.find("held-overdue", it.path, "its time of quiet is over")
	}
}

// hasNewer tells whether a name has another item that goes first: public, claimed, or held for another reason.
func (c *checkup) hasNewer(it *item) bool {
	at, ok := c.publicName(it.placed, it.name)
	if _, err := c.store.Stat(at); ok && err == nil {
		return true
	}
	for i := range c.items {
		o := &c.items[i]
		if o != it && o.Folder == it.Folder && o.name == it.name && (o.State == protocol.Claimed || o.State == protocol.Held) {
			return true
		}
	}
	return false
}
