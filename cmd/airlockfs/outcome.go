package main

import (
	"fmt"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// outcomes says what became of each version, by its last event, and, for one that is not public, by what the mount says
// of it now.
func outcomes(events []report.Event, now []report.Item) map[subject]string {
	last, claims := map[subject]report.Event{}, map[subject]*report.Owner{}
	for _, e := range events {
		s := subjectOf(e)
		if s.item == 0 || e.What == "refused" {
			continue
		}
		last[s] = e
		if e.What == "claimed" {
			claims[s] = e.By
		}
	}
	ends := map[subject]string{}
	for s, e := range last {
		ends[s] = outcome(e, claims[s], now)
	}
	return ends
}

// outcome is a sentence. claimant is who claimed it last, nil: nobody did.
func outcome(e report.Event, claimant *report.Owner, now []report.Item) string {
	switch e.What {
	case "settled":
		return "done"
	case "removed", "discarded", "replaced":
		return "gone"
	case "quarantined", "abandoned":
		return e.What + ": " + show.Name(e.Detail)
	}
	for _, i := range now {
		if i.Path == e.Path {
			return unfinished(i, claimant)
		}
	}
	if claimant != nil {
		return "public again, to be taken by another"
	}
	return "public, nobody has taken it"
}

func unfinished(i report.Item, claimant *report.Owner) string {
	switch {
	case i.State == "claimed" && claimant != nil:
		return fmt.Sprintf("claimed by %s (%d), and neither removed nor moved: it comes back when the job ends", show.Name(claimant.Program), claimant.PID)
	case i.State == "staged" && i.Barrier == "temp":
		return "hidden: it has a temp name, and was not renamed"
	}
	return i.State + ": " + show.Name(i.Reason)
}
