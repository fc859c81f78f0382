package protocol

import (
	"fmt"
	"time"
)

// Base is what a job knows of a state file (section 9): the version that it last opened for reading, or that there was none
// when it looked, or when it had taken the file away itself.
type Base struct {
	Version ItemID // 0: none
	Own     bool   // the job took it away itself
	Known   bool   // and knew what it took away: what it writes instead it knows, too
	Looks   int    // how often it looked and found none
	Seen    bool   // it has found one since
}

// Came is the last change of what a state file's name means.
type Came struct {
	Version ItemID // that is current since; 0: none
	By      PartyID
	Name    string // of By, for people
	UID     uint32
	At      time.Time
}

// Rebase is what a decision does to what jobs know of a file.
type Rebase struct {
	Name   NameKey
	Job    Job
	Base   Base
	Forget bool
	Came   *Came // nil: the same version as before is current
}

// Versioned tells whether the name is that of a state file. What is under a temp name is its writer's alone.
func (f *File) Versioned() bool { return f.Match.Class.Versioned() && f.Match.Temp != TempByName }

// Stale tells whether a job would write over a version that it does not know. What a stranger has removed is in nobody's
// way; nor is what came between the last look and the call that the look belonged to, of who knew nothing before.
func (f *File) Stale(j Job) bool {
	b, known := f.Bases[j]
	switch {
	case !known || f.Public == nil || !f.Public.Match.Class.Versioned():
		return false
	case b.Version != 0:
		return b.Version != f.Public.ID
	}
	return b.Own || b.Seen || b.Looks > 1
}

// staleToTake is Stale for who takes the file away. That there was none once is no reason not to: programs wait for a file
// and remove it.
func (f *File) staleToTake(j Job) bool { return f.Bases[j].Version != 0 && f.Stale(j) }

// Look is what a job knows after a look at the name. A version is known by reading it, not by looking at it.
func (f *File) Look(j Job) (Base, bool) {
	b, known := f.Bases[j]
	switch {
	case b.Version != 0 || b.Own:
	case f.Public == nil:
		b.Looks++
		return b, true
	case known && !b.Seen:
		b.Seen = true
		return b, true
	}
	return b, false
}

// Rebase makes the change.
func (f *File) Rebase(r Rebase) {
	if r.Came != nil {
		f.Came = *r.Came
	}
	switch {
	case r.Job == (Job{}):
	case r.Forget:
		delete(f.Bases, r.Job)
	default:
		if f.Bases == nil {
			f.Bases = map[Job]Base{}
		}
		f.Bases[r.Job] = r.Base
	}
}

// renumber: a version has another id.
func (f *File) renumber(old, now ItemID) {
	for j, b := range f.Bases {
		if b.Version == old {
			b.Version = now
			f.Bases[j] = b
		}
	}
	if f.Came.Version == old {
		f.Came.Version = now
	}
}

// rebase tells what the effects of an event, or an open without any, do to what jobs know.
func rebase(w *World, e *Event, done []Effect) []Rebase {
	var all []Rebase
	for _, f := range []*File{w.File, w.Target} {
		if f == nil || !f.Versioned() || e.Job == (Job{}) && len(f.Bases) == 0 {
			continue
		}
		if now := current(f, done); now != idOf(f.Public) {
			took := f.Public != nil && leaves(f.Public, f.Name, done) && !e.Exchange && (e.Op == OpUnlink || e.Op == OpRename)
			all = append(all, f.changed(e, now, took))
		} else if f == w.File && readsIt(e) && e.Item == now && now != 0 && e.Job != (Job{}) {
			all = append(all, Rebase{Name: f.Name, Job: e.Job, Base: Base{Version: now}})
		}
	}
	return all
}

// readsIt: an open for reading, by which a job gets to know the version.
func readsIt(e *Event) bool { return e.Op == OpOpen && e.Open.Read && !e.Open.Truncate }

func idOf(i *Item) ItemID {
	if i == nil {
		return 0
	}
	return i.ID
}

// current is the version that is current after the effects.
func current(f *File, done []Effect) ItemID {
	now := idOf(f.Public)
	if now != 0 && leaves(f.Public, f.Name, done) {
		now = 0
	}
	for n := range done {
		x := &done[n]
		switch {
		case x.Next.State != Public || x.Kind != Make && x.Kind != Move:
		case x.Next.Name == f.Name:
			now = x.Next.ID
		case x.Swap != 0 && x.Next.ID == idOf(f.Public):
			now = x.Swap
		}
	}
	return now
}

// changed is what becomes of the base of the job that has changed the file, or took it away. Then another one may have had its
// turn.
func (f *File) changed(e *Event, now ItemID, took bool) Rebase {
	r := Rebase{Name: f.Name, Job: e.Job, Came: came(e, now)}
	b, known := f.Bases[e.Job]
	switch was := idOf(f.Public); {
	case now == 0 && !took:
		r.Job = Job{} // nobody's wish
	case took:
		r.Base = Base{Own: true, Known: b.Known || b.Version != 0 && b.Version == was}
	case b.Known, b.Version != 0 && (was == 0 || b.Version == was):
		r.Base = Base{Version: now} // a job knows what it wrote after what it had read
	case b.Version == 0:
		r.Forget = true
	default:
		r.Base = b // it added to a version that it has not read
	}
	if !known && r.Base == (Base{}) {
		r.Job = Job{}
	}
	return r
}

func came(e *Event, now ItemID) *Came {
	c := &Came{Version: now, At: e.At}
	if e.By != nil {
		c.By, c.UID, c.Name = e.By.ID, e.By.Process.UID, fmt.Sprintf("pid %d (%s)", e.By.Process.PID, e.By.Program)
	}
	return c
}

// Between is what came between what a job knew of the file and now.
func (f *File) Between() *Came {
	if f.Public == nil || f.Came.Version != f.Public.ID {
		return nil
	}
	c := f.Came
	return &c
}

// outdated refuses who would write over a version that it does not know.
func outdated(f *File) Decision { return Decision{Refuse: OutdatedBy(f)} }

// OutdatedBy is that refusal.
func OutdatedBy(f *File) *Refusal {
	r := &Refusal{Reason: Outdated, Kind: fmt.Sprintf("version %d", f.Public.ID), Item: f.Public.ID, Since: f.Public.Since,
		Came: f.Between(), WhatNow: "read it again, then write it anew"}
	if r.Came != nil {
		r.By = r.Came.By
	}
	return r
}

// late puts a version aside that was closed too late.
func late(f *File, i *Item, e *Event) Effect {
	q := quarantine(i, e.At)
	q.Next.Taint = q.Next.Taint.Worse(f.Late(i.UID))
	return q
}

// Late is why a version can't become current any more, for its writer to read.
func (f *File) Late(uid uint32) Taint {
	if !f.Versioned() || f.Public == nil {
		return Taint{Kind: TaintBase, Detail: "the version it was made from was claimed, replaced or removed meanwhile"}
	}
	t := Taint{Kind: TaintBase, Detail: fmt.Sprintf("version %d came between what it was made from, or its writer had read, and its close", f.Public.ID)}
	switch c := f.Between(); {
	case c == nil || c.Name == "":
	case c.UID == uid:
		t.Detail += fmt.Sprintf(": %s made it current at %s", c.Name, c.At.Format(time.TimeOnly))
	default:
		t.Detail += ": another user made it current at " + c.At.Format(time.TimeOnly)
	}
	return t
}

// overridden is what becomes of one's own unfinished item under a name that one gives to another.
func overridden(f *File, i *Item, e *Event) Effect {
	if !f.Versioned() {
		return remove(i)
	}
	x := Effect{Kind: Move, Next: *i}
	if i.State == Held {
		x = quarantine(i, e.At)
	}
	x.Next.Taint = i.Taint.Worse(Taint{Kind: TaintBase, Detail: "another version was given its name while it was being written"})
	return x
}

// rotated is a file that was written in place, such as a log, under the name of a state file. It is one, as soon as nobody has
// it open for writing any more: until then it gets its last lines.
func rotated(i *Item, t *File, e *Event) Effect {
	x := public(i, t.Name, t.Match, e.At)
	if !i.Closed() {
		x.Next.Match = i.Match
		x.Next.Match.Unlisted, x.Next.Match.Ghost = false, false
	}
	return x
}

// regains: the file was moved under this name while it was written in place, and is a state file from now on. What was
// created in place under the name stays what it is.
func (f *File) regains(i *Item) bool {
	return f.Versioned() && i.Match.Class.InPlace() && !i.Ghost && !f.Match.PlainIfDatabase && !f.Match.LogIfAppend
}
