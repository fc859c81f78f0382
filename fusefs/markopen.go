package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// A program makes its lock file, goes into the background, and goes on with the descriptor. Who has it when the maker has ended is
// a part of the mark, in whatever session. No request tells of a fork, so nobody knows him before he uses the descriptor; but as long
// as that is open, there is somebody.

// usesMarkLocked: somebody writes to a mark, or closes it.
func (d *desk) usesMarkLocked(x *mark, h *handle, p *protocol.Party) {
	if p == nil || p.Unseen || x.made != h.id || p.ID == x.Maker || p.ID == x.Also || !d.Callers.Ended(h.party.ID) {
		return
	}
	d.holdMarkLocked(x, func() {
		if x.Also = p.ID; x.Open {
			x.Maker, x.Open = p.ID, false
		}
	})
}

// keptOpenLocked tells whether who has the descriptor that made a mark goes on with it when its holder has ended. He does not if its
// holder was killed or has failed, unless that had it from its maker, who ended well: the mark was his.
func (d *desk) keptOpenLocked(x *mark, fate protocol.MarkFate, end protocol.End) bool {
	holder := end.Party
	own := d.Callers.End(holder).Verdict.Kind // end may be that of who would have inherited
	failed := own == protocol.Killed || own == protocol.Failed
	switch {
	case fate == protocol.MarkInherited, failed && (x.Named != 0 || holder == x.first || holder == x.Also):
		return false
	case x.Also != 0 && x.Also != holder && !d.Callers.Ended(x.Also):
		d.holdMarkLocked(x, func() { x.Maker, x.Named = x.Also, 0 })
		return true
	case x.made != 0 && d.handles[x.made] != nil:
		d.leaveEstateLocked(x)
		x.Maker, x.Named, x.Open, x.end = holder, 0, true, end
		return true
	}
	return false
}

// lastUserFailedLocked: who had the descriptor after its holder was killed or has failed before that ended well: of two forks the first may
// take its time.
func (d *desk) lastUserFailedLocked(x *mark, holder protocol.PartyID) bool {
	return x.Also != 0 && x.Also != holder && d.Callers.Ended(x.Also) && x.After(d.Callers.End(x.Also)) == protocol.MarkOver
}

// closedMarkLocked: the descriptor that made a mark is closed, and nobody has been seen to have it since its holder ended.
func (d *desk) closedMarkLocked(x *mark) {
	if x.After(x.end) == protocol.MarkOver {
		d.markOverLocked(x, x.end)
		return
	}
	d.dropMarkLocked(x)
}

// hasMadeLocked tells whether a process has the descriptor that made a mark, now that its maker has ended.
func (d *desk) hasMadeLocked(m *protocol.Mark, p *protocol.Party) bool {
	x := d.markLocked(m.Name)
	if x == nil || x.made == 0 || d.handles[x.made] == nil || !d.Callers.Ended(x.first) {
		return false
	}
	return d.Callers.HasOpen(p.ID, x.inode.Ino)
}

// markWrittenLocked: somebody has written to a file that may be a mark.
func (d *desk) markWrittenLocked(h *handle, p *protocol.Party) {
	for _, x := range d.marksOfLocked(h.node) {
		d.usesMarkLocked(x, h, p)
	}
}
