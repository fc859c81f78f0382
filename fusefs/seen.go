package fusefs

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// seen is what is kept of a public file that only the kernel refers to: a million of them must fit into memory. All else
// about it is on the disk or follows from its name; it is a whole node again as soon as somebody asks for it.
type seen struct {
	id, lookups uint64
	inode       backing.ID
	parent      *node
	name        string
	noted       string // as in bytes
}

// fewWhole nodes that were used last stay as they are: who looks a file up is about to use it.
const fewWhole = 512

// usedLastLocked has a node looked at again, whether it is needed, when fewWhole others were used since.
func (d *desk) usedLastLocked(n *node) {
	if !n.used {
		n.used = true
		d.used = append(d.used, n)
	}
}

// sweepLocked forgets the nodes that nobody needs, or all but what is seen of them. It is called between requests: a call
// under way may have a node in its hands.
func (d *desk) sweepLocked() {
	if len(d.used) >= 2*fewWhole {
		d.foldLocked(fewWhole)
	}
}

// foldLocked does it for all but so many that were used last.
func (d *desk) foldLocked(whole int) {
	old := d.used[:len(d.used)-whole]
	for _, n := range old {
		n.used = false
		switch {
		case d.table.byID[n.id] != n: // dropped since
		case n.idle():
			n.leavesLocked()
			d.table.drop(n)
		case d.plainLocked(n):
			n.leavesLocked()
			d.table.fold(n)
		}
	}
	d.used = append(make([]*node, 0, 2*fewWhole), d.used[len(old):]...)
	d.table.shrink()
}

// plainLocked tells whether the desk knows no more of an item than the disk, and nobody else may have the node in his
// hands.
func (d *desk) plainLocked(n *node) bool {
	if n.kind != itemNode || n.bytes.needed() || !n.bytes.plain() {
		return false
	}
	i := &n.bytes.item
	parent := d.table.byID[uint64(i.Name.Folder)]
	return parent != nil && parent.gone == nil && parent.folder.files[i.Name.Name] == nil && i.Match == d.Rules.At(parent.path(), i.Name.Name)
}

// plain: nothing has happened to the item that the disk does not tell.
func (b *bytes) plain() bool {
	return b.item.State == protocol.Public && b.item.Links < 2 && len(b.names) == 0 && b.at != (backing.Object{}) && !b.item.Ghost &&
		b.class == "" && !b.shown && b.unused == nil && b.releasing == nil && len(b.writers) == 0 && b.ctimeOurs == (unix.Timespec{})
}

// fold keeps no more of a node than what is seen of it.
func (t *table) fold(n *node) {
	i := &n.bytes.item
	t.drop(n)
	t.keep(&seen{id: n.id, lookups: n.lookups, inode: n.inode, parent: t.byID[uint64(i.Name.Folder)], name: i.Name.Name, noted: n.bytes.noted})
}

// wholeLocked makes a node of what was seen of it.
func (d *desk) wholeLocked(s *seen) *node {
	d.table.leave(s)
	n := &node{id: s.id, lookups: s.lookups, inode: s.inode, parent: s.parent, name: s.name}
	n.itemLocked(1, d.Rules.At(s.parent.path(), s.name))
	if s.noted != "" {
		d.takeNoteLocked(n, s.noted)
	}
	d.usedLastLocked(n)
	return d.table.add(n)
}

func (t *table) keep(s *seen) {
	t.seen[s.id], t.seenByInode[s.inode] = s, s
	t.mostSeen = max(t.mostSeen, len(t.seen))
}

func (t *table) leave(s *seen) {
	delete(t.seen, s.id)
	if t.seenByInode[s.inode] == s {
		delete(t.seenByInode, s.inode)
	}
}

// shrink gives memory back. Go's maps keep theirs, however few entries are left: they are made anew (maps.Clone would copy the
// room, too).
func (t *table) shrink() {
	if few(len(t.byID), &t.most) {
		t.byID, t.byInode = maps.Collect(maps.All(t.byID)), maps.Collect(maps.All(t.byInode))
	}
	if few(len(t.seen), &t.mostSeen) {
		t.seen, t.seenByInode = maps.Collect(maps.All(t.seen)), maps.Collect(maps.All(t.seenByInode))
	}
}

// few tells whether little is left of what once was there, and has that forgotten.
func few(left int, most *int) bool {
	if left > *most/4 || *most < fewWhole {
		return false
	}
	*most = left
	return true
}

// seenIn are the folders of what only the kernel refers to.
func (t *table) seenIn() map[protocol.FolderID]struct{} {
	folders := map[protocol.FolderID]struct{}{}
	for _, s := range t.seen {
		folders[protocol.FolderID(s.parent.id)] = struct{}{}
	}
	return folders
}
