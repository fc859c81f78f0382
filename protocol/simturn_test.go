package protocol

import (
	"fmt"
	"slices"
	"time"
)

// simReserve is how long a turn lasts without a call.
const simReserve = 30 * time.Second

// endTurns ends what is over by itself: nobody of the job lives, or none has made a call for long.
func (s *sim) endTurns(w *World) {
	for _, f := range []*File{w.File, w.Target} {
		if f == nil || f.Turn == nil {
			continue
		}
		lives := slices.ContainsFunc(s.parties, func(p *Party) bool { return !s.dead[p.ID] && s.jobOf(p) == f.Turn.Job })
		writes := slices.ContainsFunc(f.Private, func(i *Item) bool { return i.State == Staged && !i.Closed() && s.work[i.ID] == f.Turn.Job })
		if !lives && !writes || s.now.After(f.Turn.Until) {
			f.Turn = nil
		}
	}
}

func (s *script) turn(args []string) string {
	n := s.sim.key(args[0])
	w := s.sim.world(n, nil)
	s.sim.endTurns(w)
	t := w.File.Turn
	switch {
	case t == nil:
		return "nobody's"
	case t.Reads:
		return fmt.Sprintf("%s's, who has read it, until %s", s.sim.names[t.By], t.Until.Format(time.TimeOnly))
	}
	return fmt.Sprintf("%s's, who writes it, until %s", s.sim.names[t.By], t.Until.Format(time.TimeOnly))
}
