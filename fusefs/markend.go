package fusefs

import (
	"errors"
	"slices"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// settleMarkLocked: whoever looks for a name after its holder's end finds what has become of it (I7). Its heir may have ended by
// now, too.
func (d *desk) settleMarkLocked(key protocol.NameKey) {
	for x := d.markLocked(key); x != nil && !x.Open && d.partyGoneLocked(x.Holder()); x = d.markLocked(key) {
		d.markEndedLocked(x, d.Callers.End(x.Holder()))
	}
}

// settleMarksLocked does it for a folder that is about to be listed.
func (d *desk) settleMarksLocked(folder *node) {
	for name := range folder.folder.marks {
		d.settleMarkLocked(folder.key(name))
	}
}

// markEndedLocked: the holder has ended. Who inherits its claims inherits its marks, but for those somebody else may.
func (d *desk) markEndedLocked(x *mark, end protocol.End) {
	holder := end.Party
	if k := end.Verdict.Kind; end.Heir == nil && k != protocol.Killed && k != protocol.Failed {
		end = d.Callers.MarkEnd(holder)
	}
	if end.Heir != nil && end.Heir.Process.UID != x.UID && end.Heir.Process.UID != 0 {
		end.Heir = nil // another user has no right to it, and his end says nothing of it
	}
	fate := x.After(end)
	d.Log.Debug("a mark's holder has ended", "path", d.pathLocked(x.Name), "by", doer(d.Callers.Party(holder)), "how", end.Verdict, "heir", doer(end.Heir), "fate", fate)
	switch {
	case fate == protocol.MarkInherited:
		d.holdMarkLocked(x, func() { x.Maker = end.Heir.ID })
	case d.keptOpenLocked(x, fate, end):
	case fate == protocol.MarkOrdinary && d.lastUserFailedLocked(x, holder):
		d.markOverLocked(x, d.Callers.End(x.Also))
	case fate == protocol.MarkOrdinary:
		d.dropMarkLocked(x)
	default:
		d.markOverLocked(x, end)
	}
}

// markOverLocked frees the name of a mark whose holder was killed or has failed. What others use as a file is not taken away
// from them.
func (d *desk) markOverLocked(x *mark, end protocol.End) {
	record := x.record
	x.record = 0
	d.dropMarkLocked(x)
	defer d.forgetRecordLocked(record) // when it is over: until then whose it was is not forgotten
	c := d.call(protocol.OpMarkOver, nil)
	c.Verdict, c.By = end.Verdict, d.Callers.Party(end.Party)
	c.why = end.Verdict.OfMark()
	d.doLocked(func() error { return d.freeMarkLocked(x, c) })
}

func (d *desk) freeMarkLocked(x *mark, c *call) error {
	st, err := d.Store.Stat(d.outsideLocked(x.Name))
	if err != nil || st.ID != x.inode {
		return err // it has gone already
	}
	if still, err := d.isMarkLocked(x); err != nil || !still {
		return err
	}
	_, n, err := d.lookLocked(d.table.byID[uint64(x.Name.Folder)], x.Name.Name)
	switch {
	case err != nil || n == nil:
		return err
	case n.kind != itemNode:
		return d.putAsideLocked(x, n, c)
	case n.bytes.item.State != protocol.Public || d.lockedByLivingLocked(n):
		return nil // it is used as a lock file, too: who waits for its lock must find the same file
	case !n.bytes.locksOf().Empty():
		d.marks.late[n] = func() error { return d.freeMarkLocked(x, c) }
		return nil // by who has ended: the end of his descriptor is on its way
	}
	c.Item = protocol.ItemID(n.id)
	_, err = d.decideLocked(c, func() (*protocol.World, error) {
		f, err := d.fileLocked(x.Name)
		return d.world(f, nil), err
	})
	d.tidyLocked(n)
	return err
}

// lockedByLivingLocked: somebody who lives has a lock on the file, or waits for one.
func (d *desk) lockedByLivingLocked(n *node) bool {
	all := n.bytes.locksOf().Held()
	for _, w := range n.bytes.locksOf().Waiters() {
		all = append(all, w.Lock)
	}
	return slices.ContainsFunc(all, func(l protocol.Lock) bool { return !d.Callers.Ended(l.By) })
}

// putAsideLocked moves a folder or link into quarantine.
func (d *desk) putAsideLocked(x *mark, n *node, c *call) error {
	if n.kind == folderNode && d.usedBelowLocked(n) {
		return nil
	}
	st, err := d.statLocked(n)
	if err != nil {
		return err
	}
	key, err := d.keyLocked(d.table.byID[uint64(x.Name.Folder)])
	if err != nil {
		return err
	}
	from := d.outsideLocked(x.Name)
	to, err := d.moveAsideLocked(from, protocol.Place{State: protocol.Quarantined, Folder: key, Owner: protocol.Process{UID: x.UID}})
	if err != nil {
		return err
	}
	d.goneLocked(n, st)
	d.oweLocked(x.Name, from.Folder, false)
	d.keepMarkLocked(to)
	d.sayMarkOverLocked(x, c, to)
	return nil
}

// usedBelowLocked: somebody living writes or claims something in the folder.
func (d *desk) usedBelowLocked(folder *node) bool {
	for _, f := range folder.folder.files {
		d.settleDeadLocked(f)
		for _, i := range f.Private {
			if i.Owner != 0 || i.Writers > 0 {
				return true
			}
		}
	}
	return false
}

// sayMarkOverLocked tells of a folder or link that was put aside, and where: status knows files only.
func (d *desk) sayMarkOverLocked(x *mark, c *call, to backing.Object) {
	path, why := d.pathLocked(x.Name), c.why+": it is kept as "+to.String()+" in the backing"
	d.Log.Warn("quarantined", "path", path, "by", doer(c.By), "detail", why)
	d.events.add(said{report.Event{Time: c.At, Path: path, What: "quarantined", By: owner(c.By), Detail: why}, int64(x.UID), why})
}

// moveAsideLocked moves something to the first place in which its name is free.
func (d *desk) moveAsideLocked(from backing.Object, p protocol.Place) (backing.Object, error) {
	for {
		to, err := d.slotLocked(p, from.Name)
		if err != nil {
			return to, err
		}
		if err = d.Store.Move(from, to, backing.NoReplace); err == nil {
			return to, nil
		}
		if !errors.Is(err, syscall.EEXIST) {
			d.slots.leave(to)
			return to, err
		}
		p.Slot++ // taken by what another mount has put there
	}
}
