package fusefs

import (
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// turnBlockerLocked is whose turn it is, for who waits for his.
func (d *desk) turnBlockerLocked(name protocol.NameKey) *lockBlocker {
	f := d.turns.of[name]
	if f == nil {
		return nil
	}
	if by := d.turnByLocked(f); by != nil {
		return &lockBlocker{by, d.pathLocked(name), f.Turn.Since}
	}
	return nil
}

// turnsLocked are the files that jobs have reserved, for status. What is over is not told.
func (d *desk) turnsLocked(tell func(*node, *protocol.File, *protocol.Party)) {
	for _, f := range d.turns.of {
		parent := d.table.byID[uint64(f.Name.Folder)]
		if parent == nil || d.turnOverLocked(f, d.Callers.Alive(f.Turn.Job)) {
			continue
		}
		if _, n, err := d.lookLocked(parent, f.Name.Name); err == nil && n != nil && n.kind == itemNode && f.Turn != nil {
			tell(n, f, d.turnByLocked(f))
		}
	}
}

// reservedLocked are reservations as status lists them.
func (d *desk) reservedLocked(uid uint32) (all []report.Item) {
	d.turnsLocked(func(n *node, f *protocol.File, by *protocol.Party) {
		if !d.oversees(uid) && (by == nil || by.Process.UID != uid) {
			return
		}
		i := d.itemLocked(n)
		i.State, i.Owner, i.Since, i.Until = "reserved", owner(by), f.Turn.Since, d.untilLocked(f)
		i.Reason = called(by) + " is writing it: its turn"
		if f.Turn.Reads {
			i.Reason = called(by) + " has read it, and may write it: others' opens wait"
		}
		i.Lifts = "its job writes the file or ends"
		if !i.Until.IsZero() {
			i.Lifts += ", or makes no call until " + i.Until.Format(time.TimeOnly) + " (--reserve)"
		}
		all = append(all, i)
	})
	return all
}

// reservationsLocked are reservations as locks lists them.
func (d *desk) reservationsLocked(uid uint32) (all []report.Lock) {
	d.turnsLocked(func(n *node, f *protocol.File, by *protocol.Party) {
		if !d.oversees(uid) && (by == nil || by.Process.UID != uid) {
			return
		}
		path := d.pathLocked(f.Name)
		l := report.Lock{Path: path, Raw: raw(path), Inode: n.inode.Ino, Kind: "RESERVE", Mode: protocol.WriteLock.String(), End: protocol.ToEOF,
			Since: f.Turn.Since, Until: d.untilLocked(f), Binds: true}
		if by != nil {
			l.PID, l.Program = by.Process.PID, by.Program
		}
		all = append(all, l)
	})
	return all
}
