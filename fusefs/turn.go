package fusefs

import (
	"slices"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// lookAtTurns is how often an open that waits for its turn looks whether the job that has it is still there: of processes
// that have never called there is no news.
const lookAtTurns = 20 * time.Millisecond

// turns are whose turn it is with serial files. Guarded by desk.mu.
type turns struct {
	of     map[protocol.NameKey]*protocol.File
	calls  map[jobAt]*calls
	looked map[protocol.NameKey]time.Time // when somebody who waits last looked whether the turn is over
}

// jobAt is a job in a folder.
type jobAt struct {
	job    protocol.Job
	folder protocol.FolderID
}

// calls are what a job with turns in a folder does there.
type calls struct {
	turns int
	last  time.Time
}

func newTurns() turns {
	return turns{map[protocol.NameKey]*protocol.File{}, map[jobAt]*calls{}, map[protocol.NameKey]time.Time{}}
}

// put files a turn, or its end.
func (t *turns) put(f *protocol.File, now *protocol.Turn) {
	if old := f.Turn; old != nil && t.of[f.Name] != nil {
		at := jobAt{old.Job, f.Name.Folder}
		if t.calls[at].turns--; t.calls[at].turns == 0 {
			delete(t.calls, at)
		}
	}
	if f.Turn = now; now == nil {
		delete(t.of, f.Name)
		delete(t.looked, f.Name)
		return
	}
	t.of[f.Name] = f
	at := jobAt{now.Job, f.Name.Folder}
	if t.calls[at] == nil {
		t.calls[at] = &calls{}
	}
	t.calls[at].turns++
}

// untilLocked is when a turn ends if its job makes no call; zero: never.
func (d *desk) untilLocked(f *protocol.File) time.Time {
	until := f.Turn.Until
	if c := d.turns.calls[jobAt{f.Turn.Job, f.Name.Folder}]; c != nil && !until.IsZero() {
		if later := c.last.Add(d.Reserve); later.After(until) {
			return later
		}
	}
	return until
}

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
	now, until := d.Now(), d.untilLocked(f)
	return !until.IsZero() && now.After(until) && !d.writingLocked(f, now.Add(-d.Reserve))
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

// waitsForLocked are the jobs that a job's opens wait for.
func (d *desk) waitsForLocked(j protocol.Job) (all []protocol.Job) {
	for o := range d.openings {
		if f := d.turns.of[o.on]; o.met.Line && f != nil && o.job == j {
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
	if f := d.turns.of[name]; f != nil {
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
	if t == nil {
		t = d.nextInLineLocked(f.Name)
	}
	if d.turns.put(f, t); t == nil {
		d.trimLocked(f.Name)
	}
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
	f, now := d.turns.of[name], d.Now()
	if f == nil || now.Sub(d.turns.looked[name]) < lookAtTurns/2 {
		d.mu.Unlock()
		return // another one that waits has just looked
	}
	d.turns.looked[name] = now
	turn := f.Turn
	job := turn.Job
	d.mu.Unlock()
	alive := d.Callers.Works(job)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f = d.turns.of[name]; f != nil && f.Turn == turn && d.turnOverLocked(f, alive) {
		d.setTurnLocked(f, nil)
	}
}

// leaveLine: an open that was interrupted does not take the turn it was just given.
func (d *desk) leaveLine(o *opening) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.openings, o)
	if f := d.turns.of[o.on]; f != nil && f.Turn.Handed && f.Turn.Job == o.job {
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
	if len(d.turns.of) == 0 || c.By == nil {
		return
	}
	switch c.Op {
	case protocol.OpOpen, protocol.OpCreate, protocol.OpUnlink, protocol.OpRename, protocol.OpLink, protocol.OpTake:
	default:
		return
	}
	again := c.Op == protocol.OpOpen && !c.Open.Write && w.File.Turn != nil
	if at := d.turns.calls[jobAt{d.jobLocked(c.By), w.File.Name.Folder}]; at != nil && !again {
		at.last = c.At
	}
}
