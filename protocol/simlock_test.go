package protocol

import "slices"

// simLocks are the locks that are held, by name. Everybody may write everything.
type simLocks map[NameKey][]Holding

// hold takes a lock on a name, or gives it up.
func (s *sim) hold(p *Party, n NameKey, how string) {
	if s.locks == nil {
		s.locks = simLocks{}
	}
	s.locks[n] = slices.DeleteFunc(s.locks[n], func(h Holding) bool { return h.By == p.ID })
	if how == "un" {
		return
	}
	l := Lock{Kind: Flock, Mode: WriteLock, Owner: uint64(p.ID), End: ToEOF, By: p.ID, Since: s.now}
	if how == "sh" {
		l.Mode = ReadLock
	}
	s.locks[n] = append(s.locks[n], Holding{Lock: l, Holders: []*Party{p}})
}

// approach is the begin of an open of a name that the party sees.
func (s *sim) approach(p *Party, n NameKey, m OpenMode) Decision {
	e := s.event(OpApproach, p)
	e.Open = m
	return s.decide(s.world(n, nil), e)
}
