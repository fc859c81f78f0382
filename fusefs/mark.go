package fusefs

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// mark is what the desk knows of a mark: a name that is held by its existence (protocol.Mark). It is in its folder's marks and in
// its holder's estate. Guarded by desk.mu.
type mark struct {
	protocol.Mark
	inode  backing.ID
	folder bool
	link   bool
	which  protocol.MarkKind
	number int              // the process id that is written in it, as its maker counts; 0: none is known
	made   uint64           // the descriptor that made it, as long as it is open
	void   bool             // what was written into it makes it no mark: when that descriptor is closed, it is none
	first  protocol.PartyID // who made it
	end    protocol.End     // of its last holder, if that is Open
	record uint64           // its number below marks/; 0: it has none
}

// markMadeLocked: a name was made by who found it free. If that is of class lock, it is a mark.
func (d *desk) markMadeLocked(p *protocol.Party, parent *node, name string, made *handle) {
	m := d.Rules.At(parent.path(), name)
	which := m.Marks(parent.path(), name).By(p.Program)
	if which == protocol.NoMark || p.Unseen || !d.markRoomLocked(p.Process.UID) {
		return
	}
	st, err := d.Store.Stat(backing.Object{Folder: parent.path(), Name: name})
	if err != nil {
		return
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFREG && kind != unix.S_IFDIR && kind != unix.S_IFLNK {
		return
	}
	x := &mark{Mark: protocol.Mark{Name: parent.key(name), Maker: p.ID, Since: d.Now(), UID: p.Process.UID}, first: p.ID, inode: st.ID, which: which,
		folder: kind == unix.S_IFDIR, link: kind == unix.S_IFLNK}
	if made != nil {
		x.made = made.id
	}
	d.addMarkLocked(x)
	if x.link || !x.folder && st.Size > 0 {
		d.readMarkLocked(x)
	}
	d.recordMarkLocked(x)
	d.Log.Debug("marked", "path", d.pathLocked(x.Name), "by", doer(d.Callers.Party(x.Holder())))
}

// addMarkLocked puts a mark where it is found: by its name, and by its holder.
func (d *desk) addMarkLocked(x *mark) {
	folder := d.table.byID[uint64(x.Name.Folder)].folder
	if folder.marks == nil {
		folder.marks = map[string]*mark{}
	}
	folder.marks[x.Name.Name] = x
	d.marks.count++
	d.marks.of[x.UID]++
	d.estateLocked(x.Holder()).marks[x] = struct{}{}
	if n := d.table.byInode[x.inode]; n != nil && n.kind == itemNode {
		n.bytes.marked.Store(true)
	}
}

// dropMarkLocked: it is a mark no longer, whatever has become of the name.
func (d *desk) dropMarkLocked(x *mark) {
	if folder := d.table.byID[uint64(x.Name.Folder)]; folder != nil {
		if folder.folder.marks[x.Name.Name] != x {
			return
		}
		delete(folder.folder.marks, x.Name.Name)
	}
	d.marks.count--
	if d.marks.of[x.UID]--; d.marks.of[x.UID] == 0 {
		delete(d.marks.of, x.UID)
	}
	d.leaveEstateLocked(x)
	d.forgetRecordLocked(x.record)
	if n := d.table.byInode[x.inode]; n != nil && n.kind == itemNode {
		n.bytes.marked.Store(len(d.marksOfLocked(n)) > 0)
		d.usedLastLocked(n)
	}
}

func (d *desk) leaveEstateLocked(x *mark) {
	if e := d.owned[x.Holder()]; e != nil {
		delete(e.marks, x)
		d.dropIfEmptyLocked(x.Holder(), e)
	}
}

// holdMarkLocked gives a mark another holder.
func (d *desk) holdMarkLocked(x *mark, change func()) {
	before := x.Holder()
	d.leaveEstateLocked(x)
	change()
	d.estateLocked(x.Holder()).marks[x] = struct{}{}
	if x.record != 0 && x.Holder() != before {
		d.recordMarkLocked(x)
	}
}

// markLocked is the mark under a name, nil if there is none that holds.
func (d *desk) markLocked(key protocol.NameKey) *mark {
	parent := d.table.byID[uint64(key.Folder)]
	if parent == nil || parent.kind != folderNode {
		return nil
	}
	return parent.folder.marks[key.Name]
}

// markThereLocked is the mark of a name that was looked at, as decisions see it. One whose file or folder is gone is none.
func (d *desk) markThereLocked(key protocol.NameKey, st backing.Stat, err error) *protocol.Mark {
	x := d.markLocked(key)
	switch {
	case x == nil:
		return nil
	case errors.Is(err, syscall.ENOENT) || err == nil && st.ID != x.inode:
		d.dropMarkLocked(x)
		return nil
	case x.void:
		return nil
	}
	return &x.Mark
}

// markWithinLocked is a folder, if it is a mark.
func (d *desk) markWithinLocked(folder *node) *protocol.Mark {
	if folder.parent == nil {
		return nil
	}
	if x := d.markLocked(folder.parent.key(folder.name)); x != nil && x.inode == folder.inode {
		return &x.Mark
	}
	return nil
}

// lookAtMarkLocked: a call has changed names. A mark that has lost its own is none.
func (d *desk) lookAtMarkLocked(key protocol.NameKey) {
	if d.markLocked(key) == nil {
		return
	}
	st, err := d.Store.Stat(d.outsideLocked(key))
	d.markThereLocked(key, st, err)
}

// leaveLocked refuses to take a folder, link or special file away from who holds it.
func (d *desk) leaveLocked(p *protocol.Party, parent *node, name, verb string) error {
	f, _, err := d.lookLocked(parent, name)
	if err != nil {
		return err
	}
	c := d.call(protocol.OpLeave, p)
	if dec := protocol.Decide(d.world(f, nil), &c.Event); dec.Refuse != nil {
		return d.refuseLocked(attempt{by: p, verb: verb, path: d.pathLocked(f.Name)}, dec.Refuse)
	}
	return nil
}

// nameTimeoutLocked is for how long the kernel may remember the name of a folder: one that may be a mark can go at any time.
func (d *desk) nameTimeoutLocked(n *node) time.Duration {
	if n.kind == folderNode && n.parent != nil && d.Rules.At(n.parent.path(), n.name).Marks(n.parent.path(), n.name) != protocol.NoMark {
		return 0
	}
	return folderTimeout
}

// marksBelowLocked refuses to move a folder with marks below it of who is a stranger to the caller.
func (d *desk) marksBelowLocked(p *protocol.Party, folder *node) error {
	if d.marks.count == 0 {
		return nil
	}
	for _, n := range d.table.byID {
		if n.kind != folderNode || len(n.folder.marks) == 0 || !n.below(folder) {
			continue
		}
		for name := range n.folder.marks {
			if err := d.leaveLocked(p, n, name, "rename"); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayChangeLocked refuses a stranger's bytes in a file that is a mark.
func (d *desk) mayChangeLocked(h *handle) error {
	for _, x := range d.marksOfLocked(h.node) {
		if x.made == h.id {
			continue // whoever has this descriptor now
		}
		f, err := d.fileLocked(x.Name)
		if err != nil {
			return err
		}
		c := d.call(protocol.OpChange, h.party)
		if dec := protocol.Decide(d.world(f, nil), &c.Event); dec.Refuse != nil {
			return d.refuseHandleLocked(h, "write", dec.Refuse)
		}
	}
	return nil
}

// marksOfLocked are the names of a file that are marks.
func (d *desk) marksOfLocked(n *node) []*mark {
	if n.kind != itemNode || !n.bytes.marked.Load() {
		return nil
	}
	var all []*mark
	if x := d.markLocked(n.bytes.item.Name); x != nil && x.inode == n.inode {
		all = append(all, x)
	}
	for name := range n.bytes.names {
		if x := d.markLocked(name); x != nil && x.inode == n.inode && name != n.bytes.item.Name {
			all = append(all, x)
		}
	}
	return all
}
