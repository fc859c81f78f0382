package verdict

import "fmt"

// lockedByTwo are locks that two actors surely held at the same time. A lock ends with its daemon.
func (r *Result) lockedByTwo(all map[string]*life) []Violation {
	byName := map[string][]held{}
	open := map[string]*held{}
	shut := func(actor string, at int64) {
		if h := open[actor]; h != nil {
			h.to = min(at, all[actor].alive, r.downAfter(h.op.Begin))
			byName[h.op.Path] = append(byName[h.op.Path], *h)
			delete(open, actor)
		}
	}
	for _, o := range r.ops {
		switch {
		case o.Verb == "lock" && o.sure():
			open[o.Actor] = &held{op: o, from: o.End}
		case o.Verb == "unlock":
			shut(o.Actor, o.Begin)
		}
	}
	for actor := range open {
		shut(actor, never)
	}
	var bad []Violation
	for name, holds := range byName {
		for i, a := range holds {
			for _, b := range holds[i+1:] {
				if a.op.Actor != b.op.Actor && a.from < b.to && b.from < a.to {
					bad = append(bad, Violation{"locked by two", "", fmt.Sprintf("%s: %s and %s", name, a.op, b.op)})
				}
			}
		}
	}
	return bad
}
