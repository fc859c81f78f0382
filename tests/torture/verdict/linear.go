package verdict

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// The phases of a parcel. absent: not published yet.
const (
	absent = iota
	public
	claimed
	settled
)

// state is where one parcel is. Nobody but its claimant sees one that is claimed.
type state struct {
	phase  int
	holder string
	at     string // its path now
	home   string // where a claim goes back to
	names  int
}

// patience with one parcel's history.
const patience = 20 * time.Second

// model is a hand-over of one parcel, as a sequence of steps that happen at once. pathless: its name is used by others
// too, so that a look at the name says nothing of it.
func model(pathless bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{names: 1}} },
		Step: func(s, input, _ any) []any {
			o := input.(*Op)
			next := s.(state).step(o, pathless)
			if o.Outcome == unsure {
				next = append(next, s)
			}
			return next
		},
	}
	return m.ToModel()
}

// step gives the states that the parcel may be in after a step, none if it can't have happened.
func (s state) step(o *Op, pathless bool) []any {
	here := pathless || s.at == o.Path
	mine := s.phase == claimed && s.holder == o.Actor && here
	open := s.phase == public && here
	if o.Outcome == miss {
		if pathless || !mine && !open {
			return []any{s}
		}
		return nil
	}
	next := s
	switch o.Verb {
	case "publish":
		next.phase, next.at, next.home = public, o.Path, o.Path
		return when(s.phase == absent, next)
	case "link":
		next.names++
		return when(open || mine, next)
	case "look":
		return when(open || mine, s)
	case "claim":
		next.phase, next.holder = claimed, o.Actor
		return when(open || mine, next)
	case "take":
		next.phase, next.holder, next.at = claimed, o.Actor, o.To
		return when(open || mine, next)
	case "settle", "archive":
		next.phase = settled
		if mine || open && o.Outcome == unsure {
			return s.unname(next)
		}
		return nil
	case "pass":
		next.phase, next.at, next.home = public, o.To, o.To
		return when(open || mine, next)
	case "end", "release":
		return s.giveBack(o)
	}
	return []any{s}
}

func when(possible bool, next state) []any {
	if !possible {
		return nil
	}
	return []any{next}
}

// unname: of several names one is gone. The claim goes on with the others, or, if the mount does not know them since it was
// restarted, they are public.
func (s state) unname(done state) []any {
	if s.names == 1 {
		return []any{done}
	}
	s.names--
	open := s
	open.phase = public
	return []any{s, open}
}

// giveBack ends a claim: the parcel is public where it came from, or, if its mover ended well, where it was moved to.
func (s state) giveBack(o *Op) []any {
	if s.phase != claimed || o.Verb == "end" && s.holder != o.Actor {
		return []any{s}
	}
	back, stays := s, s
	back.phase, back.at = public, s.home
	stays.phase, stays.home = public, s.at
	if o.Verb == "release" {
		return []any{s, back, stays} // the order may have been about another moment
	}
	return []any{back, stays}
}

// linearizable tells whether some order of the steps about the parcel explains them all.
func (d *dossier) linearizable(r *Result, all map[string]*life) porcupine.CheckResult {
	pathless := ownName(d.parcel) == ""
	var history []porcupine.Operation
	actors := map[string]bool{}
	add := func(o *Op) {
		history = append(history, porcupine.Operation{ClientId: len(history), Input: o, Call: o.Begin, Return: o.End})
	}
	for _, o := range d.ops {
		if d.matters(o, pathless) {
			add(o)
			actors[o.Actor] = true
		}
	}
	for actor := range actors {
		if end := all[actor].end(actor); end != nil {
			if r.failed(end.Begin, end.End) {
				end.End = never
			}
			add(end)
		}
	}
	return porcupine.CheckOperationsTimeout(model(pathless), history, patience)
}

// matters: a refused step and a torn one say nothing about who has the parcel; nor does what an observer reads, who sees
// claimed ones too. A step of unknown outcome matters where it may have changed something.
func (d *dossier) matters(o *Op, pathless bool) bool {
	switch {
	case o.Outcome == no, o.Outcome == torn, o.Verb == "watch":
		return false
	case o.Verb == "look" && o.Outcome == unsure:
		return false
	case pathless && o.Outcome == miss:
		return false
	}
	return true
}
