package protocol

import "time"

// Turn is whose turn it is with a file of class serial (section 9): who has opened it is expected to write it, and nobody
// else opens it meanwhile.
type Turn struct {
	Job    Job
	By     PartyID // of the job, who opened the file first
	Since  time.Time
	Until  time.Time // when it ends if the job makes no call; zero: never
	Reads  bool      // the job has read the file; else it only writes it
	Handed bool      // the job has waited in line, and its open has not come yet
}

// Serial tells whether the name's file is worked on by one job after the other.
func (f *File) Serial() bool { return f.Versioned() && f.Match.Class == ClassSerial }

// others: it is another job's turn. Who waits, in the end, for himself does not: what he writes is checked as in class shared.
func (f *File) others(e *Event) bool {
	return f.Serial() && f.Turn != nil && f.Turn.Job != e.Job && !e.Circle
}

// askTurn decides about the beginning of an open: it has to wait for its turn. Who can't write the file, or never means to,
// needs none.
func askTurn(w *World, e *Event) Decision {
	f := w.File
	switch {
	case !f.Serial() || e.Observer:
		return Decision{}
	case f.others(e):
		r := f.reserved()
		if r.Line = true; e.Open.NonBlock {
			r.Reason, r.On = WouldWait, NameKey{}
		}
		return Decision{Refuse: r}
	case e.Job == (Job{}) || e.Circle:
		return Decision{}
	}
	return Decision{Turns: []Retake{{Name: f.Name, Turn: f.Turn.taken(e)}}}
}

// taken is the turn once its job has opened the file. Who only reads again, as if to look whether something has changed,
// has it no longer for that.
func (t *Turn) taken(e *Event) *Turn {
	next := Turn{Job: e.Job, By: e.By.ID, Since: e.At, Until: e.reserveUntil(), Reads: e.Open.Read}
	if t != nil {
		next.Since, next.By, next.Reads = t.Since, t.By, t.Reads || e.Open.Read
		if !t.Handed && !e.Open.Write {
			next.Until = t.Until
		}
	}
	return &next
}

func (e *Event) reserveUntil() time.Time {
	if e.Reserve == 0 {
		return time.Time{}
	}
	return e.At.Add(e.Reserve)
}

// reserved refuses a call because it is another job's turn.
func (f *File) reserved() *Refusal {
	return &Refusal{Reason: Busy, Kind: "reservation", By: f.Turn.By, Since: f.Turn.Since, On: f.Name,
		WhatNow: "wait until its job has written the file or has ended"}
}

// notItsTurn refuses what can't wait.
func notItsTurn(f *File) Decision {
	r := f.reserved()
	r.On = NameKey{}
	return Decision{Refuse: r}
}

// Retake is what a decision makes of a turn. nil: it is over.
type Retake struct {
	Name NameKey
	Turn *Turn
}

// turnsOver are the turns that end by what an event did: the file is written, or taken away, or what was begun to be
// written by who has not read it has come to nothing.
func turnsOver(w *World, e *Event, done []Effect) []Retake {
	var over []Retake
	for _, f := range []*File{w.File, w.Target} {
		if f == nil || f.Turn == nil || f.Turn.Job != e.Job {
			continue
		}
		if current(f, done) != idOf(f.Public) || !f.Turn.Reads && f == w.File && nothingCame(f, e, done) {
			over = append(over, Retake{Name: f.Name})
		}
	}
	return over
}

// nothingCame: the event is the end of what was being written.
func nothingCame(f *File, e *Event, done []Effect) bool {
	for n := range done {
		if i := &done[n].Next; i.ID == e.Item && e.Op != OpOpen {
			return i.State != Staged && i.State != Held
		}
	}
	return false
}

// Circle tells whether a job that is about to wait for another would wait for itself in the end.
func Circle(who, holder Job, waitsFor func(Job) []Job) bool {
	seen := map[Job]bool{}
	for ask := []Job{holder}; len(ask) > 0; {
		j := ask[len(ask)-1]
		ask = ask[:len(ask)-1]
		if j == who {
			return true
		}
		if !seen[j] {
			seen[j] = true
			ask = append(ask, waitsFor(j)...)
		}
	}
	return false
}
