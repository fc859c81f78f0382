package fusefs

import (
	"fmt"
	"time"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// Outsiders that have a file open for writing are found by looks and opens (foreign.go). Here it is kept, for people, which
// files that were, and since when it is known.

// mostOutsiders bounds how many are remembered. Status forgets those that are over.
const mostOutsiders = 4096

// outside is the state of such a file, for people: no item of the mount has it.
const outside = "outside"

// fromOutsideLocked notes that an outsider has the file of a name open for writing, or has not.
func (d *desk) fromOutsideLocked(name protocol.NameKey, open bool) {
	_, known := d.outsiders[name]
	switch {
	case !open:
		delete(d.outsiders, name)
	case !known && len(d.outsiders) < mostOutsiders:
		d.outsiders[name] = d.Now()
	}
}

// tornNowLocked notes that a public file, which was complete, is being written by an outsider: the next look asks again.
func (d *desk) tornNowLocked(n *node) {
	i := &n.bytes.item
	if parent := d.table.byID[uint64(i.Name.Folder)]; parent != nil {
		delete(parent.folder.settled, n.inode.Ino)
	}
	d.fromOutsideLocked(i.Name, true)
}

// stateLocked is an item's state for people, who want to know what an open would find.
func (d *desk) stateLocked(n *node) string {
	i := &n.bytes.item
	if i.State == protocol.Public && n.bytes.at != (backing.Object{}) && !i.Match.Class.InPlace() && !n.writtenHere() {
		if written, err := d.Store.WrittenElsewhere(n.bytes.at); written && err == nil {
			d.tornNowLocked(n)
			return outside
		}
	}
	return i.State.String()
}

// outsidersLocked are the files that outsiders still have open for writing, as far as a user may know of them.
func (d *desk) outsidersLocked(uid uint32) []report.Item {
	var all []report.Item
	for name, since := range d.outsiders {
		at, st, open := d.openOutsideLocked(name)
		if !open {
			delete(d.outsiders, name)
			continue
		}
		if !d.oversees(uid) && st.UID != uid {
			continue
		}
		path := d.pathLocked(name)
		all = append(all, report.Item{Path: path, Raw: raw(path), State: outside, Since: since, Size: st.Size, UID: st.UID,
			Barrier: protocol.BarrierForeign.String(), Reason: openOutside + ", as far as is known since " + since.Format(time.TimeOnly),
			Lifts: "that descriptor is closed: fuser or lsof, on its bytes, tells whose it is", Bytes: at.String()})
	}
	return all
}

const openOutside = "somebody outside the mount has it open for writing"

// openOutsideLocked asks the disk once more.
func (d *desk) openOutsideLocked(name protocol.NameKey) (at backing.Object, st backing.Stat, open bool) {
	parent := d.table.byID[uint64(name.Folder)]
	if parent == nil || parent.kind != folderNode || parent.gone != nil {
		return at, st, false
	}
	at = backing.Object{Folder: parent.path(), Name: name.Name}
	open, err := d.Store.WrittenElsewhere(at)
	if !open || err != nil {
		return at, st, false
	}
	st, err = d.Store.Stat(at)
	n := d.table.byInode[st.ID]
	return at, st, err == nil && (n == nil || n.kind != itemNode || !n.writtenHere())
}

// foreignWriterLocked refuses because of an outsider's descriptor.
func (d *desk) foreignWriterLocked(why protocol.Reason, n *node) *protocol.Refusal {
	since, known := d.outsiders[n.bytes.item.Name]
	if !known {
		since = d.Now()
	}
	return &protocol.Refusal{Reason: why, Item: n.bytes.item.ID,
		WhatNow: fmt.Sprintf("%s, as far as is known since %s: wait until it is closed; fuser or lsof, on the file in the backing, tells whose it is",
			openOutside, since.Format(time.TimeOnly))}
}

// tellOutsiderLocked: a decision was refused because of an outsider's descriptor.
func (d *desk) tellOutsiderLocked(r *protocol.Refusal, w *protocol.World) {
	for _, f := range []*protocol.File{w.File, w.Target} {
		if f == nil || f.Foreign == nil || f.Foreign.ID != r.Item {
			continue
		}
		if n := d.table.byID[uint64(r.Item)]; n != nil {
			*r = *d.foreignWriterLocked(r.Reason, n)
		}
	}
}
