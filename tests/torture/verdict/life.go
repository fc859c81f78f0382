package verdict

import (
	"strings"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// life is what is known of an actor's end.
type life struct {
	kind   string
	alive  int64 // it surely lived then
	killed int64 // it was sent a signal that ends it, the last time; 0: never
	dead   int64 // all its processes have surely ended; never: it has not ended
}

// lives are read from the actors' last lines and from the driver's lines "start", "kill" and "dead".
func lives(lines []journal.Line) map[string]*life {
	all := map[string]*life{}
	of := func(actor string) *life {
		if all[actor] == nil {
			all[actor] = &life{dead: never}
		}
		return all[actor]
	}
	for _, l := range lines {
		switch l.Verb {
		case "start":
			of(l.Args[0]).kind = l.Args[1]
		case "kill":
			if a := of(l.Args[0]); a.dead == never {
				a.alive = max(a.alive, l.At) // perhaps: it may have ended before
				if l.Args[1] != "stop" {
					a.killed = l.At
				}
			}
		case "dead":
			of(l.Args[0]).dead = l.At
		default:
			a := of(l.Actor)
			a.alive = max(a.alive, l.At-l.Slack)
		}
	}
	return all
}

// end is the step by which what the actor held goes back. Of a script that was killed, single commands may live a moment
// longer than it takes to see the end of all.
func (a *life) end(actor string) *Op {
	if a.dead == never {
		return nil
	}
	o := &Op{Actor: actor, Verb: "end", Begin: a.alive + 1, End: max(a.dead, a.alive+1), Outcome: ok} // its last step was over
	if strings.HasPrefix(a.kind, "shell") {
		o.End = never
	}
	return o
}
