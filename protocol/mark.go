package protocol

import (
	"path"
	"strings"
	"time"
)

// Mark is a lock made of existence: a name of class lock that was made by who found it free (section 8). It belongs to the
// name, not to the item: a file may have others, and folders and links are marks, too.
type Mark struct {
	Name  NameKey
	Maker PartyID // who made it, or has inherited it
	Named PartyID // whose process id is written in it; 0: nobody's, so it is its maker's
	Also  PartyID // who had the descriptor that made it when its maker had ended; 0: nobody
	UID   uint32  // the user who made it
	Since time.Time
	Open  bool // its maker has ended, and somebody unknown has the descriptor that made it: it is his
}

// Holder is whose end is the end of the mark.
func (m *Mark) Holder() PartyID {
	if m.Named != 0 {
		return m.Named
	}
	return m.Maker
}

// MarkKind tells which files of a name are marks, if they are made exclusively. Folders and links of class lock always are.
type MarkKind uint8

const (
	NoMark     MarkKind = iota
	MarkIfPid           // empty, or naming a process
	MarkAlways          // whatever is in it
)

// Marks tells which files of a name are marks. What vim writes beside a file is needed after a crash.
func (m Match) Marks(folder, name string) MarkKind {
	vims, _ := path.Match(".*.sw?", name)
	switch {
	case m.Class != ClassLock || m.Ghost || vims:
		return NoMark
	case strings.HasPrefix(name, "~$"), strings.HasPrefix(name, ".~lock.") && strings.HasSuffix(name, "#"),
		strings.HasSuffix(name, ".lock") && inRepository(folder):
		return MarkAlways
	}
	return MarkIfPid
}

// copiers make the names that they are given. What was a lock elsewhere, or looks like one, is none here.
var copiers = taskNames("cp", "tar", "bsdtar", "cpio", "unzip", "7z", "7za", "7zr", "git", "svn", "rsync", "scp")

// By tells which files of a name are marks, if a program makes them.
func (k MarkKind) By(program string) MarkKind {
	if k == MarkIfPid && copiers[taskName(program)] {
		return NoMark
	}
	return k
}

// inRepository: the folder is git's own, or lies in it.
func inRepository(folder string) bool {
	return strings.Contains(folder+"/", ".git/")
}

// guarded: what somebody living holds by its mere existence is not removed, replaced or written by strangers.
func guarded(w *World, e *Event) Decision {
	for _, m := range guards(w, e) {
		if m != nil && w.strange(m, e) {
			return Decision{Refuse: &Refusal{Reason: Busy, Kind: "mark", By: m.known(), Since: m.Since,
				WhatNow: "wait until its holder removes it: it goes by itself if that is killed or fails"}}
		}
	}
	return Decision{}
}

// guards are the marks that keep the names of an event as they are. What lies in a folder that is a mark stays there, too.
func guards(w *World, e *Event) []*Mark {
	switch e.Op {
	case OpRename:
		return []*Mark{w.File.Mark, w.File.Within, w.Target.Mark}
	case OpUnlink, OpLeave:
		return []*Mark{w.File.Mark, w.File.Within}
	case OpTake, OpChange:
		return []*Mark{w.File.Mark}
	case OpOpen:
		if e.Open.Write && e.Open.Truncate {
			return []*Mark{w.File.Mark}
		}
	}
	return nil
}

// known is its holder, if one can be named.
func (m *Mark) known() PartyID {
	if m.Open {
		return 0
	}
	return m.Holder()
}

// strange tells whether the caller has no part in the mark, and is bound by it.
func (w *World) strange(m *Mark, e *Event) bool {
	if !m.Open && w.PartyOf(m.Holder()) == nil || e.By.Process.UID == 0 && !w.RootBound && m.UID != 0 {
		return false
	}
	for _, id := range []PartyID{m.Named, m.Maker, m.Also} {
		if Kin(w.PartyOf(id), e.By) {
			return false
		}
	}
	return w.HasMade == nil || !w.HasMade(m, e.By)
}

// allowed has no more to say than what every event is asked: it is for what is no item.
func allowed(*World, *Event) Decision { return Decision{} }

// MarkFate is what becomes of a mark whose holder has ended.
type MarkFate uint8

const (
	MarkOrdinary  MarkFate = iota // it stays, and is nobody's
	MarkInherited                 // it goes on with the heir
	MarkOver                      // its name is free
)

// After tells what becomes of the mark. A process that is named in it has no heir: who reads it would take its holder for dead.
func (m *Mark) After(end End) MarkFate {
	switch {
	case end.Verdict.Kind == Killed, end.Verdict.Kind == Failed:
		return MarkOver
	case end.Heir != nil && m.Named == 0:
		return MarkInherited
	}
	return MarkOrdinary
}

// markOver frees the name of a file that was a mark. Its bytes are kept, here or under its other names.
func markOver(w *World, e *Event) Decision {
	i := w.File.Public
	switch {
	case i == nil || i.ID != e.Item:
		return Decision{}
	case i.Links > 1:
		return effects(unname(i, w.File.Name))
	}
	x := quarantine(i, e.At)
	x.Next.Taint = Taint{Kind: TaintExit, Verdict: e.Verdict, Detail: e.Verdict.OfMark()}
	if e.Verdict.Kind == Killed {
		x.Next.Taint.Kind = TaintKilled
	}
	if e.By != nil {
		x.Next.UID = e.By.Process.UID
	}
	return effects(x)
}

// OfMark says why a mark is none any more.
func (v Verdict) OfMark() string {
	if v.Kind == Killed {
		return "it was a mark, and its holder was " + v.String()
	}
	return "it was a mark, and its holder " + v.String()
}

// lockedByLink: who makes a lock with link(2) writes a file of his own first, and removes it later. Until then it is public;
// from now on both names are of class lock, and nobody takes it.
func lockedByLink(i *Item) Decision {
	next := *i
	next.Match = i.Match.as(ClassLock, "linked to a lock name")
	return Decision{Item: i.ID, Access: AccessInPlace, Then: []Effect{{Kind: Move, Next: next}}}
}
