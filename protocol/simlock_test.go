package protocol

import (
	"slices"
	"strings"
)

// simLocks are the locks that are held, by name. Everybody may write everything.
type simLocks map[NameKey][]Holding

// hold takes a lock on a name, waits for one, or gives it up. What waited behind it for that is lifted.
func (s *sim) hold(p *Party, n NameKey, how string) {
	if s.locks == nil {
		s.locks = simLocks{}
	}
	s.locks[n] = slices.DeleteFunc(s.locks[n], func(h Holding) bool { return h.By == p.ID })
	if how != "un" {
		l := Lock{Kind: Flock, Mode: WriteLock, Owner: uint64(p.ID), End: ToEOF, By: p.ID, Since: s.now}
		if how == "sh" {
			l.Mode = ReadLock
		}
		s.locks[n] = append(s.locks[n], Holding{Lock: l, On: n, Holders: []*Party{p}, Waits: how == "wait"})
		return
	}
	n.Name = strings.TrimSuffix(n.Name, ".lock")
	for _, i := range slices.Clone(s.File(n).Private) {
		if i.State == Held && i.Barrier == BarrierLocked {
			s.about(OpLifted, i)
		}
	}
}

// locksOn are the locks on a public name, and on its lock file.
func (s *sim) locksOn(i *Item) []Holding {
	if i.State != Public {
		return nil
	}
	if i.Match.Class.Bound() {
		return slices.Concat(s.locks[i.Name], s.locks[LockFileOf(i.Name)])
	}
	return s.locks[i.Name]
}

// approach is the begin of an open of a name that the party sees.
func (s *sim) approach(p *Party, n NameKey, m OpenMode) Decision {
	e := s.event(OpApproach, p)
	e.Open = m
	return s.decide(s.world(n, nil), e)
}

// letGo is the end of a process: of its locks.
func (s *sim) letGo(p *Party) {
	for n, all := range s.locks {
		if slices.ContainsFunc(all, func(h Holding) bool { return h.By == p.ID }) {
			s.hold(p, n, "un")
		}
	}
}
