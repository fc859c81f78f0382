package fusefs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// rmdir removes an empty folder. Parked and abandoned items in it go to quarantine; anything else that is private keeps
// it.
func (d *desk) rmdir(p *protocol.Party, parentID uint64, name string) error {
	return d.lasting(func() error { return d.rmdirLocked(p, parentID, name) })
}

func (d *desk) rmdirLocked(p *protocol.Party, parentID uint64, name string) error {
	parent, err := d.folderLocked(parentID)
	if err != nil {
		return err
	}
	n, err := d.otherLocked(parent, name)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case n.kind != folderNode:
		return syscall.ENOTDIR
	}
	if err = d.leaveLocked(p, parent, name, "remove"); err != nil {
		return err
	}
	defer d.lookAtMarkLocked(parent.key(name))
	if err = d.emptyLocked(n, p, "rmdir"); err != nil {
		return err
	}
	st, err := d.statLocked(n)
	if err == nil {
		err = d.Store.Rmdir(n.object())
	}
	if err == nil {
		d.goneLocked(n, st)
		d.oweLocked(parent.key(name), parent.path(), false)
	}
	return err
}

// emptyLocked clears a folder of what nobody will come back for, and refuses if something is left. What everybody sees
// comes first: a removal that is refused clears nothing.
func (d *desk) emptyLocked(n *node, p *protocol.Party, verb string) error {
	err := d.Store.List(n.path(), func(backing.Entry) error { return syscall.ENOTEMPTY })
	if err != nil {
		return err
	}
	for _, f := range n.folder.files {
		d.settleDeadLocked(f)
	}
	for _, f := range n.folder.files {
		for _, i := range append([]*protocol.Item(nil), f.Private...) {
			if i.State != protocol.Parked && i.State != protocol.Abandoned {
				r := &protocol.Refusal{Reason: protocol.HiddenBelow, Kind: kindOf(i), Item: i.ID, By: i.Owner, Since: i.Since,
					WhatNow: "wait until it is settled, or remove it"}
				return d.refuseLocked(attempt{by: p, verb: verb, path: n.path(), below: d.pathLocked(f.Name)}, r)
			}
			if err := d.aboutItemLocked(d.table.byID[uint64(i.ID)], d.call(protocol.OpExpired, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// renameOtherLocked renames a folder, link or special file: as on the backing, but for folders with unsettled items.
func (d *desk) renameOtherLocked(p *protocol.Party, src, dst, n *node, from, to string, flags uint32) error {
	f, over, err := d.lookLocked(dst, to)
	if err != nil {
		return err
	}
	how := howOf(flags)
	if err = d.leaveLocked(p, src, from, "rename"); err == nil {
		err = d.mayMoveOtherLocked(p, n, over, how)
	}
	if err != nil {
		return err
	}
	if err = d.mayTakeAwayLocked(dst, f.Public, p); err != nil {
		return err
	}
	c := d.call(protocol.OpTake, p)
	w := d.world(f, nil)
	if err = d.askForeignLocked(w, &c.Event); err != nil {
		return err
	}
	if dec := protocol.Decide(w, &c.Event); dec.Refuse != nil {
		d.tellOutsiderLocked(dec.Refuse, w)
		return d.refuseLocked(attempt{by: p, verb: "rename", path: d.pathLocked(f.Name)}, dec.Refuse)
	}
	lost, kept, err := d.beforeCoveredLocked(n, over, how)
	if err != nil {
		return err
	}
	a, b := backing.Object{Folder: src.path(), Name: from}, backing.Object{Folder: dst.path(), Name: to}
	drafts, err := d.moveOtherLocked(n, over, a, b, how)
	if err != nil {
		d.unretainLocked(kept)
		return err
	}
	d.oweMoveLocked(src.key(from), dst.key(to), a.Folder, b.Folder, true)
	if lost != nil {
		d.coveredLocked(over, *lost, c)
	} else if how == backing.Exchange {
		d.exchangedLocked(over, src, from)
	}
	d.movedOtherLocked(n, dst, to)
	if len(drafts) > 0 {
		err = d.syncNamesLocked(a.Folder, b.Folder)
	}
	d.settleDraftsLocked(drafts)
	return err
}

// moveOtherLocked is the disk's part: the rename, and before it what the registry will say of folders that move.
func (d *desk) moveOtherLocked(n, over *node, from, to backing.Object, how backing.How) ([]draft, error) {
	drafts, err := d.draftKeysLocked(n, to)
	if err == nil && how == backing.Exchange && over != nil {
		var theirs []draft
		theirs, err = d.draftKeysLocked(over, from)
		drafts = append(drafts, theirs...)
	}
	if err == nil && len(drafts) > 0 {
		err = d.syncNamesLocked(foldersArea)
	}
	if err == nil {
		err = d.Store.Move(from, to, how)
	}
	if err != nil {
		d.dropDraftsLocked(drafts)
		return nil, err
	}
	return drafts, nil
}

func howOf(flags uint32) backing.How {
	switch {
	case flags&unix.RENAME_NOREPLACE != 0:
		return backing.NoReplace
	case flags&unix.RENAME_EXCHANGE != 0:
		return backing.Exchange
	}
	return backing.Replace
}

// mayMoveOtherLocked: a folder keeps its place while somebody works on what is below it, and one that is to be replaced
// is cleared as for rmdir(2).
func (d *desk) mayMoveOtherLocked(p *protocol.Party, n, over *node, how backing.How) error {
	if n.kind == folderNode {
		if err := d.quietBelowLocked(p, n); err != nil {
			return err
		}
	}
	switch {
	case over == nil || over.kind != folderNode || over == n:
		return nil
	case how == backing.Exchange:
		return d.quietBelowLocked(p, over)
	case n.kind != folderNode:
		return syscall.EISDIR
	}
	return d.emptyLocked(over, p, "rename")
}

// beforeCoveredLocked are the attributes of what a rename is about to replace, if anything; a public item is kept for a
// time as if another item replaced it.
func (d *desk) beforeCoveredLocked(n, over *node, how backing.How) (*backing.Stat, retained, error) {
	if over == nil || over == n || how != backing.Replace {
		return nil, retained{}, nil
	}
	st, err := d.statLocked(over)
	if err != nil || over.kind != itemNode || n.kind == folderNode {
		return &st, retained{}, err
	}
	return &st, d.retainLocked(over), nil
}

// coveredLocked: a folder, link or special file has taken the name.
func (d *desk) coveredLocked(over *node, st backing.Stat, c *call) {
	if over.kind != itemNode {
		d.goneLocked(over, st)
		return
	}
	d.buryLocked(over.bytes.item.ID, c)
	over.bytes.item.WrittenOver()
	d.elsewhereLocked(over)
}

// exchangedLocked: what was under the second name is under the first one now.
func (d *desk) exchangedLocked(over, src *node, from string) {
	if over.kind != itemNode {
		d.movedOtherLocked(over, src, from)
		return
	}
	src.folder.settled[over.inode.Ino] = ourDoing
	_, _, _ = d.lookLocked(src, from) // if that fails, whoever looks next finds it there
}

func (d *desk) movedOtherLocked(n, dst *node, to string) {
	d.Store.Forget(n.path())
	n.parent, n.name = dst, to
	if n.kind == folderNode {
		d.Store.Forget(n.path())
		d.relocateLocked(n)
	}
}

// relocateLocked: the public items below a folder that moved are elsewhere now.
func (d *desk) relocateLocked(folder *node) {
	for _, n := range d.table.byID {
		if n.kind != itemNode || n.bytes.item.State != protocol.Public || n.bytes.at == (backing.Object{}) {
			continue
		}
		if parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]; parent != nil && parent.below(folder) {
			n.bytes.at.Folder = parent.path()
		}
	}
}

// quietBelowLocked refuses to move a folder while somebody living writes or claims something below it.
func (d *desk) quietBelowLocked(p *protocol.Party, folder *node) error {
	for _, n := range d.table.byID {
		if n.kind != folderNode || len(n.folder.files) == 0 || !n.below(folder) {
			continue
		}
		for _, f := range n.folder.files {
			d.settleDeadLocked(f)
			for _, i := range f.Private {
				if i.Owner == 0 && i.Writers == 0 {
					continue
				}
				r := &protocol.Refusal{Reason: protocol.Busy, Kind: kindOf(i), Item: i.ID, By: i.Owner, Since: i.Since,
					WhatNow: "move the folder when it is settled"}
				return d.refuseLocked(attempt{by: p, verb: "rename", path: folder.path(), below: d.pathLocked(f.Name)}, r)
			}
		}
	}
	if err := d.marksBelowLocked(p, folder); err != nil {
		return err
	}
	if err := d.overtakenBelowLocked(p, folder); err != nil {
		return err
	}
	return d.noWritersBelowLocked(p, folder)
}

func (d *desk) noWritersBelowLocked(p *protocol.Party, folder *node) error {
	for _, h := range d.handles {
		parent := d.table.byID[uint64(h.node.bytes.item.Name.Folder)]
		if h.counted && h.kind() == writeHandle && parent != nil && parent.below(folder) {
			return d.refuseLocked(attempt{by: p, verb: "rename", path: folder.path(), below: d.pathLocked(h.node.bytes.item.Name)},
				&protocol.Refusal{Reason: protocol.Busy, Kind: "open file", By: h.party.ID, Since: h.node.bytes.item.Since})
		}
	}
	return nil
}

// kindOf names what keeps a folder from going, for people.
func kindOf(i *protocol.Item) string {
	switch i.State {
	case protocol.Claimed:
		return "claim"
	case protocol.Staged:
		return "unfinished file"
	}
	return i.State.String() + " file"
}
