package verdict

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// Result is the judgement on a run.
type Result struct {
	Violations []Violation
	Counts     map[string]int // steps by verb and outcome: "claim ok"
	Where      map[string]int // accepted parcels by where they ended
	Parcels    int
	Histories  int // that were checked for linearizability

	lines    []journal.Line
	ops      []*Op
	cases    map[string]*dossier
	downs    []outage
	failures []outage
	fulls    []outage
	excused  map[*Op]bool
	lives    map[string]*life
}

// Judge judges.
func Judge(lines []journal.Line, found []Found) *Result {
	r := &Result{Counts: map[string]int{}, Where: map[string]int{}, lines: lines, ops: steps(lines), excused: map[*Op]bool{}}
	for _, o := range r.ops {
		r.Counts[o.Verb+" "+o.Outcome]++
	}
	r.downs, r.failures, r.fulls = outages(lines), failures(lines), fulls(lines)
	r.relax()
	all := lives(lines)
	r.lives = all
	r.cases = dossiers(lines, r.ops, found)
	r.Parcels = len(r.cases)
	r.Violations = tornReads(r.ops)
	for _, name := range slices.Sorted(maps.Keys(r.cases)) {
		d := r.cases[name]
		r.Violations = slices.Concat(r.Violations, d.early(), d.takenByTwo(all), d.account(r))
		r.distrust(d)
	}
	r.Violations = append(r.Violations, r.lockedByTwo(all)...)
	r.checkHistories(all)
	return r
}

// distrust makes the publication of a parcel that is in quarantine, and may be, a doubtful one: it was never public.
func (r *Result) distrust(d *dossier) {
	if d.in("quarantine") == 0 {
		return
	}
	for _, o := range d.publish {
		if o.sure() && (r.interrupted(o) || r.mapperKilled(d, o)) {
			o.Outcome, o.End = unsure, never
		}
	}
}

// dossiers sorts everything by parcel.
func dossiers(lines []journal.Line, ops []*Op, found []Found) map[string]*dossier {
	cases := map[string]*dossier{}
	of := func(parcel string) *dossier {
		if cases[parcel] == nil {
			cases[parcel] = &dossier{parcel: parcel}
		}
		return cases[parcel]
	}
	for _, o := range ops {
		parcels := o.Parcels
		if own := ownName(o.Path); own != "" && len(parcels) == 0 {
			parcels = []string{own}
		}
		for _, p := range parcels {
			d := of(p)
			d.ops = append(d.ops, o)
			if o.Verb == "publish" {
				d.publish = append(d.publish, o)
			}
		}
	}
	for _, l := range lines {
		switch l.Verb {
		case "doomed":
			of(l.Args[0]).doomed = fmt.Sprint(l.Args[1:])
		case "mapped":
			of(l.Args[0]).mapped = true
		}
	}
	for _, f := range found {
		d := of(f.Parcel)
		d.found = append(d.found, f)
	}
	return cases
}

// checkHistories is by far the longest part, so parcels are shared out.
func (r *Result) checkHistories(all map[string]*life) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	todo := make(chan *dossier)
	for range 2 {
		wait.Go(func() {
			for d := range todo {
				result := d.linearizable(r, all)
				mu.Lock()
				r.Histories++
				if result != porcupine.Ok {
					r.Violations = append(r.Violations, Violation{"not linearizable", d.parcel, "the check says " + string(result)})
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(r.cases)) {
		todo <- r.cases[name]
	}
	close(todo)
	wait.Wait()
}
