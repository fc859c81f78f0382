package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// jobOf is a party's job: that of whom it descends from, if it has none of its own.
func (s *sim) jobOf(p *Party) Job {
	if j, own := s.jobs[p.ID]; own {
		return j
	}
	if len(p.Ancestors) > 0 {
		return s.jobOf(s.partyOf(p.Ancestors[0]))
	}
	return Job{Group: int(p.ID)}
}

// forJob gives an event the job whose bases count.
func (s *sim) forJob(w *World, e *Event) {
	switch e.Op {
	case OpOpen, OpCreate, OpUnlink, OpRename, OpLink, OpApproach:
		e.Job, e.Reserve = s.jobOf(e.By), simReserve
		s.endTurns(w)
	case OpClosed, OpEnded, OpReleased, OpLifted, OpExpired:
		e.Job = s.work[e.Item]
	}
}

// rebase makes true what a decision did to what jobs know.
func (s *sim) rebase(e *Event, d Decision) {
	for _, x := range d.Effects {
		if (x.Next.State == Staged || x.Next.State == Held) && e.By != nil && (e.Op == OpOpen || e.Op == OpCreate || e.Op == OpRename) {
			s.work[x.Next.ID] = e.Job
		}
	}
	for _, r := range d.Rebases {
		s.File(r.Name).Rebase(r)
	}
	for _, t := range d.Turns {
		s.File(t.Name).Turn = t.Turn
	}
}

// looked: a party looked a name up.
func (s *sim) looked(p *Party, n NameKey) {
	f := s.look(n)
	if !f.Versioned() || f.Public == nil && s.visible(p, n) != nil {
		return
	}
	if b, news := f.Look(s.jobOf(p)); news {
		f.Rebase(Rebase{Name: n, Job: s.jobOf(p), Base: b})
	}
}

func (s *script) look(args []string) string {
	s.sim.looked(s.who(args[0]), s.sim.key(args[1]))
	return ""
}

func (s *script) bases(args []string) string {
	var lines []string
	f := s.sim.look(s.sim.key(args[0]))
	for _, p := range s.sim.parties {
		b, known := f.Bases[s.sim.jobOf(p)]
		if !known || slices.ContainsFunc(s.sim.parties[:p.ID-1], func(o *Party) bool { return s.sim.jobOf(o) == s.sim.jobOf(p) }) {
			continue
		}
		line := fmt.Sprintf("%s knows #%d", s.sim.names[p.ID], b.Version)
		switch {
		case b.Known:
			line = s.sim.names[p.ID] + " took away what it knew"
		case b.Own:
			line = s.sim.names[p.ID] + " took it away"
		case b.Version == 0:
			line = fmt.Sprintf("%s found none, %d times", s.sim.names[p.ID], b.Looks)
		}
		if f.Stale(s.sim.jobOf(p)) {
			line += ": stale"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
