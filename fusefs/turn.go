package fusefs

import (
	"slices"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// lookAtTurns is how often an open that waits for its turn looks whether the job that has it is still there: of processes
// that have never called there is no news.
const lookAtTurns = 20 * time.Millisecond

// forTurnLocked tells a call what it must know of whose turn it is with its files. A turn whose job has ended is over.
func (d *desk) forTurnLocked(c *call, w *protocol.World) {
	c.Reserve, c.Circle = d.Reserve, false
	for _, f := range []*protocol.File{w.File, w.Target} {
		if f == nil || f.Turn == nil {
			continue
		}
		if d.turnOverLocked(f, d.Callers.Alive(f.Turn.Job)) {
			d.setTurnLocked(f, nil)
		}
		d.turnByLocked(f)
		c.Circle = c.Circle || f.Turn != nil && c.Job != (protocol.Job{}) && c.Job != f.Turn.Job && protocol.Circle(c.Job, f.Turn.Job, d.waitsForLocked)
	}
}

// turnOverLocked: its job has ended, or has made no call for so long that nobody waits for it any more. Of a job that has
// ended the end of its last descriptor may be told later.
func (d *desk) turnOverLocked(f *protocol.File, alive bool) bool {
	if !alive {
		return !d.writingLocked(f, time.Time{})
	}
	now := d.Now()
	return f.Turn.Lapsed(now) && !d.writingLocked(f, now.Add(-d.Reserve))
}

// writingLocked: the job whose turn it is has the file open for writing, and has written since.
func (d *desk) writingLocked(f *protocol.File, since time.Time) bool {
	return slices.ContainsFunc(f.Private, func(i *protocol.Item) bool {
		n := d.table.byID[uint64(i.ID)]
		return i.State == protocol.Staged && !i.Closed() && n != nil && n.bytes.job == f.Turn.Job && !n.bytes.lastWrite.Before(since)
	})
}

// turnByLocked is who of the job is to be told of: its script, where the program that opened the file has ended.
func (d *desk) turnByLocked(f *protocol.File) *protocol.Party {
	if f.Turn == nil {
		return nil
	}
	if by := f.Turn.By; d.Callers.Ended(by) {
		if heir := d.Callers.End(by).Heir; heir != nil {
			next := *f.Turn
			next.By = heir.ID
			f.Turn = &next
		}
	}
	return d.Callers.Party(f.Turn.By)
}

// turnBlockerLocked is whose turn it is, for who waits for his.
func (d *desk) turnBlockerLocked(name protocol.NameKey) *lockBlocker {
	f := d.turns[name]
	if f == nil {
		return nil
	}
	if by := d.turnByLocked(f); by != nil {
		return &lockBlocker{by, d.pathLocked(name), f.Turn.Since}
	}
	return nil
}

// waitsForLocked are the jobs that a job's opens wait for.
func (d *desk) waitsForLocked(j protocol.Job) (all []protocol.Job) {
	for o := range d.openings {
		if f := d.turns[o.on]; o.met.Line && f != nil && o.job == j {
			all = append(all, f.Turn.Job)
		}
	}
	return all
}

// inTurn: who opens the file may have to wait for his turn.
func (b *bytes) inTurn() bool {
	return b.item.Match.Class == protocol.ClassSerial && (b.item.State == protocol.Public || b.item.State == protocol.Gone)
}

// waits: the call is tried again when what it met is let go.
func (c *call) waits(r *protocol.Refusal) bool {
	return r.On != (protocol.NameKey{}) && (c.patient || c.queues && r.Line)
}

// turnOfLocked is whose turn it is with a file.
func (d *desk) turnOfLocked(name protocol.NameKey) *protocol.Turn {
	if f := d.turns[name]; f != nil {
		return f.Turn
	}
	return nil
}

// retakeLocked makes true what a decision made of turns.
func (d *desk) retakeLocked(turns []protocol.Retake) {
	for _, t := range turns {
		d.setTurnLocked(d.findLocked(t.Name), t.Turn)
	}
}

// setTurnLocked gives somebody the turn, or, if it is over, the one who has waited longest.
func (d *desk) setTurnLocked(f *protocol.File, t *protocol.Turn) {
	if f.Turn = t; t == nil {
		f.Turn = d.nextInLineLocked(f.Name)
	}
	if f.Turn == nil {
		delete(d.turns, f.Name)
		d.trimLocked(f.Name)
		return
	}
	d.turns[f.Name] = f
}

// nextInLineLocked lets the one go on that has waited longest, with all that its job has waiting, and gives its job the turn.
// Who has no job has none, and is in nobody's way.
func (d *desk) nextInLineLocked(name protocol.NameKey) *protocol.Turn {
	for o := d.longestLocked(name); o != nil; o = d.longestLocked(name) {
		d.goOnLocked(o)
		if o.job == (protocol.Job{}) {
			continue
		}
		for other := range d.openings {
			if other.on == name && other.met.Line && other.job == o.job {
				d.goOnLocked(other)
			}
		}
		now := d.Now()
		t := &protocol.Turn{Job: o.job, By: o.by.ID, Since: now, Handed: true}
		if d.Reserve > 0 {
			t.Until = now.Add(d.Reserve)
		}
		return t
	}
	return nil
}

func (d *desk) longestLocked(name protocol.NameKey) (first *opening) {
	for o := range d.openings {
		if o.on == name && o.met.Line && (first == nil || o.number < first.number) {
			first = o
		}
	}
	return first
}

func (d *desk) goOnLocked(o *opening) {
	close(o.again)
	delete(d.openings, o)
}

// awaitTurn waits until it is the turn of an open, however long that takes. EINTR: it was interrupted, and leaves the line.
func (d *desk) awaitTurn(o *opening, again, cancel <-chan struct{}) error {
	look := time.NewTicker(lookAtTurns)
	defer look.Stop()
	for {
		select {
		case <-again:
			return nil
		case <-cancel:
			d.leaveLine(o)
			return syscall.EINTR
		case <-look.C:
			d.lookAtTurn(o.on)
		}
	}
}

// lookAtTurn ends a turn whose job has ended. Whether it has is asked without the lock.
func (d *desk) lookAtTurn(name protocol.NameKey) {
	d.mu.Lock()
	f := d.turns[name]
	if f == nil {
		d.mu.Unlock()
		return
	}
	turn := f.Turn
	job := turn.Job
	d.mu.Unlock()
	alive := d.Callers.Works(job)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f = d.turns[name]; f != nil && f.Turn == turn && d.turnOverLocked(f, alive) {
		d.setTurnLocked(f, nil)
	}
}

// leaveLine: an open that was interrupted does not take the turn it was just given.
func (d *desk) leaveLine(o *opening) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.openings, o)
	if f := d.turns[o.on]; f != nil && f.Turn.Handed && f.Turn.Job == o.job {
		d.setTurnLocked(f, nil)
	}
}

// untakenLocked: an open has failed that got the turn with it.
func (d *desk) untakenLocked(c *call, err error) {
	if f := c.took; f != nil && err != nil && err != syscall.ESTALE && f.Turn != nil && f.Turn.Job == c.Job {
		d.setTurnLocked(f, nil)
	}
}

// turnUsedLocked: a job's calls in the folder say that it is still at work, unless they only look at the file again.
func (d *desk) turnUsedLocked(c *call, w *protocol.World) {
	if len(d.turns) == 0 || c.By == nil || d.Reserve == 0 {
		return
	}
	switch c.Op {
	case protocol.OpOpen, protocol.OpCreate, protocol.OpUnlink, protocol.OpRename, protocol.OpLink, protocol.OpTake:
	default:
		return
	}
	job := d.jobLocked(c.By)
	for name, f := range d.turns {
		again := c.Op == protocol.OpOpen && !c.Open.Write && name == w.File.Name
		if name.Folder == w.File.Name.Folder && f.Turn.Job == job && !again {
			used := *f.Turn
			used.Until = c.At.Add(d.Reserve)
			f.Turn = &used
		}
	}
}

// turnsLocked are the files that jobs have reserved, for status. What is over is not told.
func (d *desk) turnsLocked(tell func(*node, *protocol.File, *protocol.Party)) {
	for _, f := range d.turns {
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
		i.State, i.Owner, i.Since, i.Until = "reserved", owner(by), f.Turn.Since, f.Turn.Until
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
			Since: f.Turn.Since, Until: f.Turn.Until, Binds: true}
		if by != nil {
			l.PID, l.Program = by.Process.PID, by.Program
		}
		all = append(all, l)
	})
	return all
}
