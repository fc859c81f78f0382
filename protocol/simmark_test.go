package protocol

import "maps"

// What scripts say of marks:
//
//	mark P PATH [named Q]               it is a mark of who made it, or of who is named in it
//	holder-ends PATH VERDICT [heir P]   so it is inherited, ordinary, or over
//	leave P PATH | change P PATH        what is no file would lose its name; a file in place would change
func init() {
	maps.Copy(commands, map[string]func(*script, []string) string{
		"mark": func(s *script, a []string) string {
			s.sim.mark(s.who(a[0]), s.sim.key(a[1]), s.who(append(a, "named", a[0])[3]))
			return ""
		},
		"holder-ends": func(s *script, a []string) string { return s.holderEnds(a) },
		"leave": func(s *script, a []string) string {
			return s.answer(s.sim.leave(s.who(a[0]), s.sim.key(a[1]), OpLeave))
		},
		"change": func(s *script, a []string) string {
			return s.answer(s.sim.leave(s.who(a[0]), s.sim.key(a[1]), OpChange))
		},
	})
}

// mark makes a name a mark of a party, or of another one that is named in it.
func (s *sim) mark(maker *Party, n NameKey, named *Party) {
	if s.marks == nil {
		s.marks = map[NameKey]*Mark{}
	}
	s.marks[n] = &Mark{Name: n, Maker: maker.ID, Since: s.now, UID: maker.Process.UID}
	if named != maker {
		s.marks[n].Named = named.ID
	}
}

// leave asks whether a name may be taken away that is no file's, or a file be changed that is written in place.
func (s *sim) leave(p *Party, n NameKey, op Op) Decision {
	return s.decide(s.world(n, nil), s.event(op, p))
}

// holderEnds settles a mark whose holder has ended.
func (s *script) holderEnds(args []string) string {
	n := s.sim.key(args[0])
	m := s.sim.marks[n]
	end := End{Party: m.Holder(), Verdict: s.verdict(args[1])}
	if len(args) > 3 {
		end.Heir = s.who(args[3])
	}
	s.sim.dead[m.Holder()] = true
	switch m.After(end) {
	case MarkInherited:
		m.Maker = end.Heir.ID
		return "inherited by " + s.sim.names[m.Maker]
	case MarkOrdinary:
		delete(s.sim.marks, n)
		return "ordinary"
	}
	delete(s.sim.marks, n)
	w := s.sim.world(n, nil)
	e := s.sim.event(OpMarkOver, s.sim.partyOf(end.Party))
	e.Verdict = end.Verdict
	if w.File.Public != nil {
		e.Item = w.File.Public.ID
	}
	return s.answer(s.sim.decide(w, e))
}
