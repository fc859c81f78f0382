package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

const eventsHelp = `List the last events of a mount (some thousands of them), or those of one file or
folder in it. Root and the mount's owner see all, other users what they did and what
happened to what is theirs. To keep them, mount with --log FILE --log-level debug: at
the level info the log has only what failed, was refused or was ordered.

With --follow it goes on with what happens, until it is interrupted or the mount is
gone. Nothing is lost in between: if more happens than the mount remembers, an event
"dropped" says how much. The mount is not kept busy.`

func newEventsCommand() *cobra.Command {
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:     "events [MOUNTPOINT|PATH]",
		Short:   "list what happened last, oldest first: by whom, to which file",
		Long:    eventsHelp,
		Example: "  airlockfs events /mnt/in/orders\n  airlockfs events --follow --json /mnt/in | jq 'select(.what == \"quarantined\")'",
		Args:    orHere(takes(1, "airlockfs events MOUNTPOINT")),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON array; with --follow, one object a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args = hereIfNone(args)
		m, err := findMount(args[0])
		if err != nil {
			return err
		}
		events, err := m.eventsOf(args[0])
		if err != nil {
			return err
		}
		if follow {
			return followEvents(cmd, m, asJSON)
		}
		if asJSON {
			return show.JSON(cmd.OutOrStdout(), events)
		}
		return printEvents(cmd.OutOrStdout(), events, time.Now())
	}
	cmd.ValidArgsFunction = completeMountpoints
	return cmd
}

// eventsOf are the events of what was asked for, which must be or have been something.
func (m livingMount) eventsOf(asked string) ([]report.Event, error) {
	all, err := m.events()
	if err != nil {
		return nil, err
	}
	status, err := m.status()
	if err != nil {
		return nil, err
	}
	events := eventsBelow(all, m.path)
	if hasItem(status.Items, m.path) || slices.ContainsFunc(events, func(e report.Event) bool { return e.Path != "." }) {
		return events, nil
	}
	return events, m.mustSee(asked)
}

// followEvents prints events as they come.
func followEvents(cmd *cobra.Command, m livingMount, asJSON bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	f := feed{mount: m}
	events, err := f.read()
	for err == nil {
		for _, e := range eventsBelow(events, m.path) {
			if err := printEvent(cmd.OutOrStdout(), e, asJSON); err != nil {
				return err
			}
		}
		events, err = f.wait(ctx, math.MaxInt64)
	}
	return unlessInterrupted(err)
}

// unlessInterrupted: what goes on until it is interrupted has then ended in order.
func unlessInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// printEvent prints one event as a line.
func printEvent(out io.Writer, e report.Event, asJSON bool) error {
	if asJSON {
		return show.JSONLine(out, e)
	}
	c := eventLine(e, time.Now())
	_, err := fmt.Fprintf(out, "%s  %-11s  %s  %s  %s\n", c[0], c[1], c[2], c[3], c[4])
	return err
}

// eventsBelow are those of a file, or of what lies in a folder; "." is the whole mount. What is of the mount itself is
// among all of them.
func eventsBelow(all []report.Event, path string) []report.Event {
	if path == "." {
		return all
	}
	some := []report.Event{}
	for _, e := range all {
		if e.Path == "." || isBelow(e.Path, path) {
			some = append(some, e)
		}
	}
	return some
}

func printEvents(out io.Writer, events []report.Event, now time.Time) error {
	rows := [][]string{{"TIME", "WHAT", "PATH", "BY", "DETAIL"}}
	for _, e := range events {
		rows = append(rows, eventLine(e, now))
	}
	return show.Rows(out, rows)
}

func eventLine(e report.Event, now time.Time) []string {
	by := "-"
	switch {
	case e.By != nil && e.By.PID == 0 && e.By.Program == "": // somebody else's process
		by = show.User(e.By.UID)
	case e.By != nil:
		by = fmt.Sprintf("%d %s", e.By.PID, show.Name(e.By.Program))
	}
	return []string{clock(e.Time, now), e.What, show.Name(e.Path), by, show.Name(e.Detail)}
}

// clock is a time of day, with the date if that is another one.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05.000")
}
