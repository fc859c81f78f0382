package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// node finds a node by the id the kernel uses; ESTALE if it is unknown.
func (d *desk) nodeLocked(id uint64) (*node, error) {
	if n := d.table.byID[id]; n != nil {
		return n, nil
	}
	if s := d.table.seen[id]; s != nil {
		return d.wholeLocked(s), nil
	}
	if n := d.newsNode(id); n != nil {
		return n, nil
	}
	return nil, syscall.ESTALE
}

func (d *desk) folderLocked(id uint64) (*node, error) {
	n, err := d.nodeLocked(id)
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case folderNode:
	case controlNode:
		return nil, syscall.ENOENT
	default:
		return nil, syscall.ENOTDIR
	}
	if n.gone != nil {
		return nil, syscall.ENOENT
	}
	return n, nil
}

// fileLocked is the File of a name, with the public item as the disk has it now.
func (d *desk) fileLocked(key protocol.NameKey) (*protocol.File, error) {
	parent, err := d.folderLocked(uint64(key.Folder))
	if err != nil {
		return nil, err
	}
	f, _, err := d.lookLocked(parent, key.Name)
	return f, err
}

// fileOfLocked is the File of an item that is known: also of one whose folder is gone, such as a parked one that rmdir
// put into quarantine.
func (d *desk) fileOfLocked(i *protocol.Item) (*protocol.File, error) {
	if parent := d.table.byID[uint64(i.Name.Folder)]; parent != nil && parent.kind == folderNode && parent.gone != nil {
		return d.knownLocked(parent, i.Name.Name), nil
	}
	return d.fileLocked(i.Name)
}

// lookLocked is fileLocked with the node that the disk has under the name, which may be no regular file.
func (d *desk) lookLocked(parent *node, name string) (*protocol.File, *node, error) {
	f := d.knownLocked(parent, name)
	d.settleDeadLocked(f)
	d.settleMarkLocked(f.Name)
	f.Public, f.Foreign, f.Link = nil, nil, nil
	st, err := d.Store.Stat(backing.Object{Folder: parent.path(), Name: name})
	f.Mark, f.Within = d.markThereLocked(f.Name, st, err), d.markWithinLocked(parent)
	if errors.Is(err, syscall.ENOENT) || parent.id == rootID && name == backing.Control {
		if d.liftOlderLocked(f) {
			return d.lookLocked(parent, name)
		}
		return f, nil, nil
	}
	if err != nil {
		return f, nil, err
	}
	n, err := d.foundLocked(parent, name, st, f.Match)
	if err != nil || n.kind != itemNode {
		return f, n, err
	}
	if err = d.placeItemLocked(f, n, st); err != nil {
		return f, nil, err
	}
	d.formersEndedLocked(n)
	if f.Link != nil && d.ownerGoneLocked(f.Link) {
		d.settleDeadLocked(f)
		return d.lookLocked(parent, name)
	}
	return f, n, nil
}

// knownLocked is the File of a name as far as the desk keeps one; else a new one, kept once something stands behind it.
func (d *desk) knownLocked(parent *node, name string) *protocol.File {
	if f := parent.folder.files[name]; f != nil {
		return f
	}
	return &protocol.File{Name: protocol.NameKey{Folder: protocol.FolderID(parent.id), Name: name}, Match: d.Rules.At(parent.path(), name)}
}

// placeItemLocked hangs an item found under a name on the disk into its File: as the public one, or as a further name
// of one that is not public. A foreign file under a temp name, or still open for writing elsewhere, is nobody's yet.
func (d *desk) placeItemLocked(f *protocol.File, n *node, st backing.Stat) error {
	i := &n.bytes.item
	i.Links, n.bytes.last = int(st.Nlink), n.bytes.asShown(st)
	if f.Mark != nil {
		n.bytes.marked.Store(true)
	}
	n.nameLocked(f.Name)
	if i.State != protocol.Public {
		f.Link = i
		return nil
	}
	i.Name, i.Home = f.Name, protocol.NameKey{}
	if n.bytes.class == "" {
		i.Match = f.Match
	}
	n.bytes.at = backing.Object{Folder: d.table.byID[uint64(f.Name.Folder)].path(), Name: f.Name.Name}
	unfinished, err := d.unfinishedElsewhereLocked(f, n, st)
	switch {
	case err != nil:
	case !unfinished:
		f.Public = i
	case f.Match.Temp != protocol.TempByName:
		f.Foreign = i
	}
	return err
}

// foundLocked is the node of an inode that the disk has under a name. ELOOP, as from the kernel, for a folder that the name
// lies below: an outsider has moved it into a new one that has its old path.
func (d *desk) foundLocked(parent *node, name string, st backing.Stat, m protocol.Match) (*node, error) {
	n := d.table.byInode[st.ID]
	if s := d.table.seenByInode[st.ID]; n == nil && s != nil {
		n = d.wholeLocked(s)
	}
	if n == nil {
		n = &node{id: d.table.nextID(), inode: st.ID, parent: parent, name: name}
		if err := d.fillLocked(n, st, m); err != nil {
			return nil, err
		}
		d.usedLastLocked(n)
		return d.table.add(n), nil
	}
	if parent.below(n) {
		return nil, syscall.ELOOP
	}
	if n.kind != itemNode && n.id != rootID {
		d.elsewhereNowLocked(n, parent, name)
	}
	return n, nil
}

// elsewhereNowLocked: another link of it, or an outsider's rename.
func (d *desk) elsewhereNowLocked(n, parent *node, name string) {
	n.gone = nil
	if n.parent == parent && n.name == name {
		return
	}
	d.movedOtherLocked(n, parent, name)
	if n.kind == folderNode {
		d.rekeyLocked(n)
	}
}

// fillLocked makes the node what its inode is.
func (d *desk) fillLocked(n *node, st backing.Stat, m protocol.Match) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		n.kind, n.folder = folderNode, newFolder("")
	case unix.S_IFREG:
		n.itemLocked(int(st.Nlink), m)
		_, err := d.readNoteLocked(n)
		n.bytes.item.Empty = n.bytes.item.Ghost && st.Size == 0
		return err
	default:
		n.kind = otherNode
	}
	return nil
}

// itemLocked makes the node a public item under its name.
func (n *node) itemLocked(links int, m protocol.Match) {
	n.kind = itemNode
	n.bytes = newBytes(protocol.Item{ID: protocol.ItemID(n.id), State: protocol.Public, Match: m, Links: links})
	n.bytes.item.Name = protocol.NameKey{Folder: protocol.FolderID(n.parent.id), Name: n.name}
	n.bytes.at = backing.Object{Folder: n.parent.path(), Name: n.name}
}

// nameLocked remembers a name of an inode that has several.
func (n *node) nameLocked(name protocol.NameKey) {
	if n.bytes.item.Links < 2 {
		return
	}
	if n.bytes.names == nil {
		n.bytes.names = map[protocol.NameKey]struct{}{}
	}
	n.bytes.names[name] = struct{}{}
}

// movedLocked: one of the names is another now.
func (n *node) movedLocked(from protocol.NameKey) {
	if n.bytes.item.Name != from {
		delete(n.bytes.names, from)
		n.nameLocked(n.bytes.item.Name)
	}
}

func newBytes(i protocol.Item) *bytes {
	return &bytes{item: i}
}

// memory is the desk as Apply sees it.
type memory struct{ *desk }

func (m memory) File(key protocol.NameKey) *protocol.File { return m.findLocked(key) }

func (m memory) Item(id protocol.ItemID) *protocol.Item {
	if n := m.table.byID[uint64(id)]; n != nil && n.kind == itemNode {
		return &n.bytes.item
	}
	return nil
}

// findLocked is the kept File of a name; one is kept from now on, until it is trimmed.
func (d *desk) findLocked(key protocol.NameKey) *protocol.File {
	parent := d.table.byID[uint64(key.Folder)]
	f := d.knownLocked(parent, key.Name)
	parent.folder.files[key.Name] = f
	return f
}

// trimLocked stops keeping a File that nothing private stands behind.
func (d *desk) trimLocked(key protocol.NameKey) {
	if parent := d.table.byID[uint64(key.Folder)]; parent != nil {
		if f := parent.folder.files[key.Name]; f != nil && f.Empty() {
			delete(parent.folder.files, key.Name)
		}
	}
}
