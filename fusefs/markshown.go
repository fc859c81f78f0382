package fusefs

import (
	"cmp"
	"slices"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// marksLocked are the marks that hold, of those a user may know of, by path.
func (d *desk) marksLocked(uid uint32) []*mark {
	var all []*mark
	for _, n := range d.table.byID {
		if n.kind != folderNode || len(n.folder.marks) == 0 {
			continue
		}
		d.settleMarksLocked(n)
		for name, x := range n.folder.marks {
			d.lookAtMarkLocked(n.key(name))
			p := d.Callers.Party(x.Holder())
			if p != nil && n.folder.marks[name] == x && !x.void && (d.oversees(uid) || uid == x.UID || uid == p.Process.UID) {
				all = append(all, x)
			}
		}
	}
	slices.SortFunc(all, func(a, b *mark) int { return cmp.Compare(d.pathLocked(a.Name), d.pathLocked(b.Name)) })
	return all
}

// markLocksLocked are the marks as the control file "locks" has them.
func (d *desk) markLocksLocked(uid uint32) []report.Lock {
	var all []report.Lock
	for _, x := range d.marksLocked(uid) {
		path, p := d.pathLocked(x.Name), d.Callers.Party(x.Holder())
		all = append(all, report.Lock{Path: path, Raw: raw(path), Inode: x.inode.Ino, Kind: "MARK", Mode: protocol.WriteLock.String(), End: protocol.ToEOF,
			PID: p.Process.PID, Program: p.Program, Since: x.Since, Binds: true})
	}
	return all
}

// markItemsLocked are the marks as the control file "status" has them: everybody sees them, and only their holder has them.
func (d *desk) markItemsLocked(uid uint32) []report.Item {
	var all []report.Item
	for _, x := range d.marksLocked(uid) {
		path, p := d.pathLocked(x.Name), d.Callers.Party(x.Holder())
		i := report.Item{Path: path, Raw: raw(path), State: "marked", Since: x.Since, Class: protocol.ClassLock.String(), UID: x.UID, Owner: owner(p),
			Reason: x.reason(called(p)), Lifts: "its holder removes it, or ends: killed or failed, the name is free at once; with 0, it stays as an ordinary file"}
		if st, err := d.Store.Stat(d.outsideLocked(x.Name)); err == nil && st.IsRegular() {
			i.Size = st.Size
		}
		if n := d.table.byInode[x.inode]; n != nil {
			i.Item = n.id
		}
		all = append(all, i)
	}
	return all
}

func (x *mark) reason(who string) string {
	what := "a lock by its existence"
	if x.Named != 0 {
		return what + ": " + who + " is named in it"
	}
	return what + " of " + who
}
