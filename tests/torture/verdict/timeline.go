package verdict

import (
	"slices"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// Timeline is what was written down about a parcel, and about who dealt with it: the replay of one hand-over.
func (r *Result) Timeline(parcel string) []journal.Line {
	d := r.cases[parcel]
	if d == nil {
		return nil
	}
	steps, actors := map[at]bool{}, map[string]bool{}
	from, to := int64(never), int64(0)
	for _, o := range d.ops {
		for _, l := range []journal.Line{o.begun, o.ended} {
			steps[at{l.Actor, l.At, l.Verb}] = true
			from, to = min(from, o.Begin), max(to, l.At)
		}
		actors[o.Actor] = true
	}
	var all []journal.Line
	for _, l := range r.lines {
		daemon := (l.Verb == "down" || l.Verb == "up" || l.Verb == "fault") && l.At >= from && l.At <= to+1e9
		about := len(l.Args) > 0 && (l.Actor == "driver" && actors[l.Args[0]] || l.Verb == "doomed" && l.Args[0] == parcel)
		if daemon || about || steps[at{l.Actor, l.At, l.Verb}] {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, byTime)
	return all
}

// at tells a line from others.
type at struct {
	actor string
	at    int64
	verb  string
}

func byTime(a, b journal.Line) int { return int(min(1, max(-1, a.At-b.At))) }
