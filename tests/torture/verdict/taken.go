package verdict

import "fmt"

// held is a time in which an actor surely held a parcel.
type held struct {
	op       *Op
	from, to int64
}

// takenByTwo are pairs of actors that surely held the parcel at the same time, and settling twice.
func (d *dossier) takenByTwo(all map[string]*life) []Violation {
	var bad []Violation
	holds := d.holds(all)
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if a.op.Actor != b.op.Actor && a.from < b.to && b.from < a.to {
				bad = append(bad, Violation{"taken by two", d.parcel, fmt.Sprintf("%s, and %s", a.op, b.op)})
			}
		}
	}
	if n := d.settled(ok); n > d.names() {
		bad = append(bad, Violation{"taken by two", d.parcel, fmt.Sprintf("it was settled %d times", n)})
	}
	return bad
}

func (d *dossier) holds(all map[string]*life) []held {
	var holds []held
	for _, o := range d.ops {
		if o.Verb == "claim" && o.sure() {
			holds = append(holds, held{o, o.End, d.heldUntil(o, all[o.Actor])})
		}
	}
	return holds
}

// heldUntil is the first moment at which the claim may be over.
func (d *dossier) heldUntil(claim *Op, a *life) int64 {
	until := a.alive
	for _, o := range d.ops {
		ends := o.Actor == claim.Actor && (o.settles() || o.Verb == "pass") || o.Verb == "release"
		if ends && o.Outcome != no && o.End >= claim.Begin {
			until = min(until, o.Begin)
		}
	}
	return until
}
