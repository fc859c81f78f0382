package fusefs

import (
	"container/list"

	"github.com/airlockfs/airlockfs/protocol"
)

// mostBases bounds what is remembered, for each user, of what his jobs know of state files. Of a job that is forgotten for
// that nothing is known any more: what it writes is let through.
const mostBases = 1 << 15

// fewBases are not worth a look which jobs have ended.
const fewBases = 256

// bases keep account of protocol.File.Bases. Guarded by desk.mu.
type bases struct {
	of     map[baseKey]*list.Element // of *base
	byUser map[uint32]*list.List     // the one that was set last is last
	enough int                       // to look which jobs have ended
}

type baseKey struct {
	name protocol.NameKey
	job  protocol.Job
}

type base struct {
	baseKey
	uid uint32
}

// jobLocked is the job that a caller belongs to. The sessions of a server share a group, but no work.
func (d *desk) jobLocked(p *protocol.Party) protocol.Job {
	switch {
	case p == nil || p.Unseen:
		return protocol.Job{}
	case protocol.ServesSessions(p.Program):
		return protocol.Job{Session: p.ID}
	}
	return d.Callers.Job(p.ID)
}

// forJobLocked finds the caller's job where that matters. An event about an item has that of its writer already.
func (d *desk) forJobLocked(c *call, w *protocol.World) {
	switch c.Op {
	case protocol.OpOpen, protocol.OpCreate, protocol.OpUnlink, protocol.OpRename, protocol.OpLink, protocol.OpApproach:
		if w.File.Versioned() || w.Target != nil && w.Target.Versioned() {
			c.Job = d.jobLocked(c.By)
			d.forTurnLocked(c, w)
		}
	}
}

// workOf: who begins a version, or gives it its name, answers for it.
func (b *bytes) workOf(c *call) {
	if c.Job != (protocol.Job{}) && (b.item.State == protocol.Staged || b.item.State == protocol.Held) {
		b.job = c.Job
	}
}

// lookedLocked: somebody has looked at a name, and found a version or none. The kernel's own second look, after ESTALE, is
// none of its caller's.
func (d *desk) lookedLocked(f *protocol.File, p *protocol.Party, found *protocol.Item, again bool) {
	if !f.Versioned() || again || f.Public == nil && (found != nil || f.Foreign != nil) {
		return
	}
	job := d.jobLocked(p)
	if job == (protocol.Job{}) {
		return
	}
	if b, news := f.Look(job); news {
		d.setBaseLocked(protocol.Rebase{Name: f.Name, Job: job, Base: b}, p.Process.UID)
	}
}

// rebaseLocked makes true what a decision did to what jobs know.
func (d *desk) rebaseLocked(c *call, changes []protocol.Rebase) {
	for _, r := range changes {
		uid := uint32(0)
		if c.By != nil {
			uid = c.By.Process.UID
		}
		d.setBaseLocked(r, uid)
	}
}

func (d *desk) setBaseLocked(r protocol.Rebase, uid uint32) {
	if parent := d.table.byID[uint64(r.Name.Folder)]; parent == nil || parent.gone != nil {
		return
	}
	f := d.findLocked(r.Name)
	old, known := f.Bases[r.Job]
	f.Rebase(r)
	now, kept := f.Bases[r.Job]
	d.keepBaseLocked(now, 1)
	d.keepBaseLocked(old, -1)
	switch key := (baseKey{r.Name, r.Job}); {
	case kept:
		d.countBaseLocked(base{key, uid})
	case known:
		d.uncountBaseLocked(key)
	}
	d.trimLocked(r.Name)
}

// keepBaseLocked: a version that somebody knows must not get another number.
func (d *desk) keepBaseLocked(b protocol.Base, by int) {
	if n := d.table.byID[uint64(b.Version)]; b.Version != 0 && n != nil {
		d.keepLocked(n, by)
	}
}

// renumberBasesLocked: a version is about to get a node of its own.
func (d *desk) renumberBasesLocked(old, now *node) {
	for _, b := range d.findLocked(old.bytes.item.Name).Bases {
		if b.Version == protocol.ItemID(old.id) {
			old.bytes.kept--
			now.bytes.kept++
		}
	}
}

// countBaseLocked has a base as its user's last one, and makes room.
func (d *desk) countBaseLocked(b base) {
	s := &d.bases
	if s.of == nil {
		s.of, s.byUser, s.enough = map[baseKey]*list.Element{}, map[uint32]*list.List{}, fewBases
	}
	if e := s.of[b.baseKey]; e != nil {
		s.byUser[e.Value.(*base).uid].MoveToBack(e)
		return
	}
	if s.byUser[b.uid] == nil {
		s.byUser[b.uid] = list.New()
	}
	s.of[b.baseKey] = s.byUser[b.uid].PushBack(&b)
	if s.byUser[b.uid].Len() > mostBases {
		d.forgetBaseLocked(s.byUser[b.uid].Front().Value.(*base).baseKey)
	}
	if len(s.of) > s.enough {
		d.sweepBasesLocked()
	}
}

func (d *desk) uncountBaseLocked(key baseKey) {
	s := &d.bases
	e := s.of[key]
	if e == nil {
		return
	}
	delete(s.of, key)
	uid := e.Value.(*base).uid
	if s.byUser[uid].Remove(e); s.byUser[uid].Len() == 0 {
		delete(s.byUser, uid)
	}
	if len(s.of) == 0 {
		*s = bases{}
	}
}

func (d *desk) forgetBaseLocked(key baseKey) {
	d.setBaseLocked(protocol.Rebase{Name: key.name, Job: key.job, Forget: true}, 0)
	d.uncountBaseLocked(key) // of a folder that is gone nothing was kept
}

// sweepBasesLocked forgets what jobs knew that have ended.
func (d *desk) sweepBasesLocked() {
	alive := map[protocol.Job]bool{}
	for key := range d.bases.of {
		lives, asked := alive[key.job]
		if !asked {
			lives = d.Callers.Alive(key.job)
			alive[key.job] = lives
		}
		if !lives {
			d.forgetBaseLocked(key)
		}
	}
	for _, f := range d.turns.of {
		lives, asked := alive[f.Turn.Job]
		if !asked {
			lives = d.Callers.Alive(f.Turn.Job)
			alive[f.Turn.Job] = lives
		}
		if d.turnOverLocked(f, lives) {
			d.setTurnLocked(f, nil)
		}
	}
	d.bases.enough = max(fewBases, 2*len(d.bases.of))
}

// forgetBasesLocked: a folder is removed, and with it its names.
func (d *desk) forgetBasesLocked(folder *node) {
	for _, f := range folder.folder.files {
		for job := range f.Bases {
			d.forgetBaseLocked(baseKey{f.Name, job})
		}
		if f.Turn != nil {
			d.setTurnLocked(f, nil)
		}
	}
}

// tooLateLocked: a version that is about to be closed can't become current any more. It is spoilt from now on, whatever its
// job reads before the descriptor ends.
func (d *desk) tooLateLocked(h *handle) error {
	n := h.node
	f, err := d.fileOfLocked(&n.bytes.item)
	if err != nil || !f.Versioned() || !f.Stale(n.bytes.job) {
		return err
	}
	d.taintLocked(n, f.Late(n.bytes.item.UID))
	r := &protocol.Refusal{Reason: protocol.BaseGone, Kind: "version", Since: f.Public.Since, Came: f.Between()}
	if r.Came != nil {
		r.By = r.Came.By
	}
	return d.refuseHandleLocked(h, "close", r)
}

// anotherUser: whom a refused call met is another user's, whose processes are not his business.
func (d *desk) anotherUser(who, met *protocol.Party, came *protocol.Came) bool {
	switch {
	case who == nil:
		return false
	case met != nil:
		return met.Process.UID != who.Process.UID
	}
	return came != nil && came.UID != who.Process.UID
}

// mayResize: a version that nothing was written to yet would lose what it was made from. Who has read that knows it.
func (d *desk) mayResize(h *handle) error {
	if h.own() != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := h.node
	if n.kind != itemNode || !n.bytes.item.Derived {
		return nil
	}
	f, err := d.fileOfLocked(&n.bytes.item)
	if err != nil || !f.Versioned() || !f.Stale(n.bytes.job) {
		return err
	}
	return d.refuseHandleLocked(h, "truncate", protocol.OutdatedBy(f))
}
