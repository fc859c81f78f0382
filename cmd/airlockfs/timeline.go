package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// printTimeline prints what happened, version by version, in the order in which they first appear, each under the names
// it had, and what became of it.
func printTimeline(out io.Writer, events []report.Event, ends map[subject]string) error {
	if len(events) == 0 {
		_, err := fmt.Fprintln(out, "nothing happened to any file")
		return err
	}
	start := events[0].Time
	rows, names := map[subject][][]string{}, map[subject][]string{}
	var subjects []subject
	for _, e := range events {
		s := subjectOf(e)
		if rows[s] == nil {
			subjects = append(subjects, s)
		}
		rows[s] = append(rows[s], eventCells(e, start))
		if name := show.Name(e.Path); !slices.Contains(names[s], name) {
			names[s] = append(names[s], name)
		}
	}
	for _, s := range subjects {
		if _, err := fmt.Fprintln(out, strings.Join(names[s], ", then ")); err != nil {
			return err
		}
		if err := show.Rows(out, rows[s]); err != nil {
			return err
		}
		if ends[s] != "" {
			fmt.Fprintf(out, "  → %s\n", ends[s])
		}
	}
	return nil
}

// subject is what events are about: a version, or, where there is none, a name.
type subject struct {
	item uint64
	path string
}

func subjectOf(e report.Event) subject {
	if e.Item != 0 {
		return subject{item: e.Item}
	}
	return subject{path: e.Path}
}

func eventCells(e report.Event, start time.Time) []string {
	by := ""
	if e.By != nil {
		by = fmt.Sprintf("by %s (%d)", show.Name(e.By.Program), e.By.PID)
	}
	return []string{fmt.Sprintf("  +%.3fs", e.Time.Sub(start).Seconds()), e.What, by, show.Name(e.Detail)}
}
