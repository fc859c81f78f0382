package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// explainItem prints what is known of one version, a line per fact.
func explainItem(out io.Writer, i report.Item, backing string, now time.Time) {
	fmt.Fprintf(out, "\n%s for %s, %s", i.State, show.Age(now.Sub(i.Since)), show.Count(int(i.Size), "byte", "bytes"))
	if i.Class != "" {
		fmt.Fprintf(out, ", class %s", i.Class)
	}
	fmt.Fprintln(out)
	facts := [][2]string{
		{"why", show.Name(i.Reason)},
		{"barrier", i.Barrier},
		{"lifts", show.Name(i.Lifts)},
		{"until", untilText(i.Until, now)},
		{"warning", show.Name(i.Warning)},
		{"owner", show.Owner(i.Owner)},
		{"opener", openerText(i)},
		{"open", openText(i)},
		{"token", tokenText(i.Token)},
		{"attempts", attemptsText(i.Attempts)},
		{"name", nameText(i)},
		{"bytes", bytesText(backing, i.Bytes)},
	}
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(out, "  %-9s %s\n", f[0], f[1])
		}
	}
}

// openerText says who began a claim that has gone on to somebody else.
func openerText(i report.Item) string {
	if i.Opener == "" || i.Owner == nil || strings.HasPrefix(i.Opener, fmt.Sprintf("pid %d ", i.Owner.PID)) {
		return ""
	}
	return fmt.Sprintf("%s read it; its heir keeps it: %s (pid %d)", show.Name(i.Opener), show.Name(i.Owner.Program), i.Owner.PID)
}

// untilText says when a state ends by itself.
func untilText(until, now time.Time) string {
	if until.IsZero() {
		return ""
	}
	return until.In(now.Location()).Format(time.DateTime) + ", in " + show.Age(until.Sub(now).Round(time.Second)) + ", if nothing happens before"
}

// tokenText is what tells this claim from every other.
func tokenText(token uint64) string {
	if token == 0 {
		return ""
	}
	return fmt.Sprint(token)
}

func openText(i report.Item) string {
	if i.Writers+i.Readers == 0 {
		return ""
	}
	return show.Count(i.Writers, "descriptor", "descriptors") + " for writing, " + fmt.Sprint(i.Readers) + " for reading"
}

func attemptsText(failed int) string {
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d ended badly", failed)
}

func nameText(i report.Item) string {
	if i.Home == "" {
		return ""
	}
	return show.Name(i.Path) + ", goes back to " + show.Name(i.Home)
}

func bytesText(backing, place string) string {
	if place == "" {
		return ""
	}
	return show.Name(filepath.Join(backing, place))
}
