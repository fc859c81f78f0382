package main

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

const statusHelp = `List the files that are hidden, claimed, held back or in quarantine, and why: in the
whole mount, or below the PATHs. What a person should see to comes first, then come
warnings, and last how many there are in each state. Root and the mount's owner see
everything, other users what is theirs. A public file has the state "published": it is
listed with --all only.

With --watch it goes on until it is interrupted: on a terminal the page is redrawn
when something happens, and every SECONDS (2); elsewhere it is printed again.`

func newStatusCommand() *cobra.Command {
	var q statusQuery
	var every seconds
	cmd := &cobra.Command{
		Use:     "status [MOUNTPOINT|PATH…]",
		Short:   "list what is not public: by whom, since when, why",
		Long:    statusHelp,
		Example: "  airlockfs status /mnt/in\n  airlockfs status --watch=5 /mnt/in/orders",
		Args:    orHere(takesSome("airlockfs status MOUNTPOINT")),
	}
	cmd.Flags().BoolVar(&q.all, "all", false, "list the public files too")
	cmd.Flags().BoolVar(&q.json, "json", false, "for programs: one JSON object")
	cmd.Flags().Var(&every, "watch", "again and again, every `SECONDS`: --watch, --watch 5")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2"
	addColour(cmd, &q.colour)
	cmd.ValidArgsFunction = completeMountpoints
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.paths = hereIfNone(args)
		if every > 0 {
			if q.paths = hereIfNone(every.among(args)); len(q.paths) == 0 {
				return cmd.Args(cmd, q.paths)
			}
			return watch(cmd, time.Duration(every), q)
		}
		return q.print(show.NewScreen(cmd.OutOrStdout(), q.colour))
	}
	return cmd
}

// statusQuery is what is asked for.
type statusQuery struct {
	paths     []string
	all, json bool
	colour    string
	again     bool // it was answered before: what had the paths may be gone
}

// print answers it once.
func (q statusQuery) print(s show.Screen) error {
	status, err := q.read()
	if err != nil {
		return err
	}
	if q.json {
		return show.JSON(s.Out, status)
	}
	return printStatus(s, status, time.Now())
}

// read asks the mount, which must be one for all paths.
func (q statusQuery) read() (report.Status, error) {
	mounts, err := q.mounts()
	if err != nil {
		return report.Status{}, err
	}
	s, err := mounts[0].status()
	if err != nil {
		return s, err
	}
	var below []string
	for i, m := range mounts {
		below = append(below, m.path)
		if q.again || m.path == "." || hasItem(s.Items, m.path) { // the mount itself has answered
			continue
		}
		if err := m.mustSee(q.paths[i]); err != nil {
			return s, err
		}
	}
	if q.all {
		s.Items, err = withPublic(mounts[0].root, s.Items)
	}
	s.Items = slices.DeleteFunc(s.Items, func(i report.Item) bool { return !concerns(i, below) })
	return s, err
}

// mounts finds each path on the one mount.
func (q statusQuery) mounts() ([]livingMount, error) {
	var all []livingMount
	for _, path := range q.paths {
		m, err := findMount(path)
		if err != nil {
			return nil, err
		}
		if all = append(all, m); m.root != all[0].root {
			return nil, failf(exitUsage, "%s and %s are two mounts: ask for one at a time", show.Name(all[0].root), show.Name(m.root))
		}
	}
	return all, nil
}

// hasItem tells whether an item concerns a path.
func hasItem(items []report.Item, path string) bool {
	return slices.ContainsFunc(items, func(i report.Item) bool { return concerns(i, []string{path}) })
}

// concerns: the item has one of the paths, goes back to it, or lies below it; "." is the whole mount.
func concerns(i report.Item, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return path == "." || isBelow(i.Path, path) || i.Home != "" && isBelow(i.Home, path)
	})
}

// standing is how much a state needs a person: the earlier, the more. The colours tell the same.
type standing struct {
	state  string
	colour show.Colour
}

var standings = []standing{{"quarantined", show.Red}, {"abandoned", show.Yellow}, {"parked", show.Yellow},
	{"held", show.Cyan}, {"outside", ""}, {"claimed", show.Green}, {"marked", show.Green}, {reserved, show.Green}, {"staged", ""}, {"published", show.Faint}}

func urgency(state string) int {
	return slices.IndexFunc(standings, func(s standing) bool { return s.state == state })
}

func stateColour(i report.Item) show.Colour {
	if n := urgency(i.State); i.Warning == "" && n >= 0 {
		return standings[n].colour
	}
	return show.Red
}

// byNeed sorts what needs a person first: what was warned of, then by state, then by path.
func byNeed(a, b report.Item) int {
	if warned := a.Warning != ""; warned != (b.Warning != "") {
		return map[bool]int{true: -1, false: 1}[warned]
	}
	return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), strings.Compare(a.Path, b.Path), cmp.Compare(a.Item, b.Item))
}

const attemptsColumn = 5

func printStatus(s show.Screen, status report.Status, now time.Time) error {
	items := slices.SortedStableFunc(slices.Values(status.Items), byNeed)
	t := show.Table{Columns: []show.Column{{Heading: "STATE"}, {Heading: "PATH", Least: 8, Tail: true}, {Heading: "OWNER", Least: 6},
		{Heading: "AGE", Right: true}, {Heading: "SIZE", Right: true}, {Heading: "ATTEMPTS", Right: true}, {Heading: "WHY", Least: 8}}}
	attempts := false
	for _, i := range items {
		attempts = attempts || i.Attempts > 0
		t.Add(stateColour(i), i.State, show.Name(i.Path), show.Owner(i.Owner), show.Age(now.Sub(i.Since)), show.Size(i.Size), strconv.Itoa(i.Attempts), show.Name(i.Reason))
	}
	if !attempts {
		t.Drop(attemptsColumn)
	}
	if len(items) > 0 {
		if err := t.Print(s); err != nil {
			return err
		}
	}
	return printSummary(s, items, status)
}

// printSummary is the end of the page: warnings, and the count of each state.
func printSummary(s show.Screen, items []report.Item, status report.Status) error {
	var lines []string
	for _, i := range items {
		if i.Warning != "" {
			lines = append(lines, s.Paint(show.Yellow, "warning: "+show.Name(i.Path)+": "+show.Name(i.Warning)))
		}
	}
	for _, w := range status.Warnings {
		lines = append(lines, s.Paint(show.Yellow, "warning: "+show.Name(w)))
	}
	_, err := io.WriteString(s.Out, strings.Join(append(lines, s.Paint(show.Bold, summary(items, status.All))), "\n")+"\n")
	return err
}

// summary counts; all: the items are everybody's.
func summary(items []report.Item, all bool) string {
	count := map[string]int{}
	for _, i := range items {
		count[i.State]++
	}
	var parts []string
	for _, u := range standings {
		if n := count[u.state]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+u.state)
		}
	}
	switch {
	case len(parts) == 0 && !all:
		return "nothing of yours is hidden, claimed, held back or in quarantine"
	case len(parts) == 0:
		return "nothing is hidden, claimed, held back or in quarantine"
	}
	return strings.Join(parts, ", ")
}
