package verdict

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// How a step ended, as the actor wrote it; unsure also if it wrote nothing.
const (
	ok     = "ok"
	miss   = "miss" // there is no such name
	no     = "no"   // refused: nothing was done
	unsure = "unsure"
	torn   = "torn"
)

// never is later than everything.
const never = math.MaxInt64

// Op is one step of an actor: what it meant to do, and what came of it.
type Op struct {
	Actor    string
	Verb     string
	Path, To string
	Parcels  []string
	Begin    int64
	End      int64 // never: it is not known when, or whether, it was done
	Outcome  string
	Detail   string

	begun, ended journal.Line // the second is empty if there is none
}

func (o *Op) sure() bool { return o.Outcome == ok }

// settles: the step ends the hand-over, by a removal or by a move to where work ends.
func (o *Op) settles() bool { return o.Verb == "settle" || o.Verb == "archive" }

func (o *Op) String() string {
	return fmt.Sprintf("%s %s %s %s %s: %s %s", o.Actor, o.Verb, o.Path, o.To, strings.Join(o.Parcels, ","), o.Outcome, o.Detail)
}

// operands is how many paths a verb has; what follows them are parcels. Only these verbs have an outcome.
var operands = map[string]int{"publish": 1, "claim": 1, "take": 2, "settle": 1, "archive": 2, "pass": 2, "link": 2, "look": 1, "watch": 1,
	"lock": 1, "unlock": 1, "release": 1}

// steps pairs each actor's intentions with their outcomes, in the order of the intentions.
func steps(lines []journal.Line) []*Op {
	var all []*Op
	open := map[string]*Op{}
	for _, l := range lines {
		if n, is := operands[l.Verb]; is {
			o := begin(l, n)
			all, open[l.Actor] = append(all, o), o
			continue
		}
		if o := open[l.Actor]; o != nil && isOutcome(l.Verb) {
			o.end(l)
			delete(open, l.Actor)
		}
	}
	return all
}

func isOutcome(verb string) bool {
	return verb == ok || verb == miss || verb == no || verb == unsure || verb == torn
}

func begin(l journal.Line, paths int) *Op {
	o := &Op{Actor: l.Actor, Verb: l.Verb, Begin: l.At - l.Slack, End: never, Outcome: unsure, begun: l}
	o.Path = l.Args[0]
	if paths == 2 {
		o.To = l.Args[1]
	}
	o.Parcels = l.Args[paths:]
	return o
}

func (o *Op) end(l journal.Line) {
	o.Outcome, o.End, o.ended = l.Verb, l.At+l.Slack, l
	if o.Verb == "publish" && o.Outcome == unsure {
		o.End = never // what waits behind a barrier may appear later
	}
	if o.Outcome == ok && len(l.Args) > 0 {
		o.Parcels = l.Args
		return
	}
	o.Detail = strings.Join(l.Args, " ")
}

// ownName is the parcel that a path is named after, if its name is used once only: those begin with u.
func ownName(p string) string {
	name, is := strings.CutPrefix(path.Base(p), "u-")
	if !is {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	return "u-" + name
}
