package main

import (
	"fmt"
	"time"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// lockSentence says what a lock, on a file or on its lock file, means for the file.
func lockSentence(l report.Lock, path string, now time.Time) string {
	who := fmt.Sprintf("%d %s", l.PID, show.Name(l.Program))
	age := show.Age(now.Sub(l.Since))
	if l.Kind == "MARK" {
		return fmt.Sprintf("%s holds it by its existence, for %s", who, age)
	}
	if l.Kind == "OPEN" {
		return fmt.Sprintf("%s waits to open it for %s, for %s%s", who, map[string]string{"READ": "reading", "WRITE": "writing"}[l.Mode], age, waitsFor(l))
	}
	if l.Kind == "RESERVE" {
		return fmt.Sprintf("%s has reserved it, for %s: others' opens wait", who, age)
	}
	what := fmt.Sprintf("a %s %s lock on bytes %d to %s", l.Mode, l.Kind, l.Start, lockEnd(l.End))
	if l.Path != path {
		what += " of " + show.Name(l.Path)
	}
	if l.Blocked {
		return fmt.Sprintf("%s waits for %s, for %s%s", who, what, age, waitsFor(l))
	}
	return fmt.Sprintf("%s holds %s, for %s%s", who, what, age, meaning(l, path))
}

// waitsFor names the chain of those who block somebody.
func waitsFor(l report.Lock) string {
	text := ""
	for n, b := range l.BlockedBy {
		who := fmt.Sprintf("%d %s", b.PID, show.Name(b.Program))
		if b.PID == 0 {
			who = "another user"
		}
		if n == 0 {
			text = fmt.Sprintf(": %s has %s %s", who, taken(l, b), show.Name(b.Path))
		} else {
			text += ", and waits for " + who
		}
	}
	return text
}

// taken: an open waits for a reservation of the file itself, or for a lock on its lock file.
func taken(l report.Lock, by report.Blocker) string {
	if l.Kind == "OPEN" && by.Path == l.Path {
		return "reserved"
	}
	return "locked"
}

// meaning is what a lock keeps others from.
func meaning(l report.Lock, path string) string {
	what := ": who opens " + show.Name(path) + " for writing waits"
	switch {
	case !l.Binds:
		return ""
	case l.Path == path:
		what = ": it binds those who do not lock"
	case l.Mode == "WRITE":
		what = ": who opens " + show.Name(path) + " waits"
	}
	return fmt.Sprintf("%s, unless %d may not write %s", what, l.PID, show.Name(path))
}
