package main

import (
	"errors"
	"os"
	"strings"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/protocol"
)

// greeting is what a mount says at its start.
type greeting struct {
	Found    []string `json:"found"`    // of an earlier mount
	Warnings []string `json:"warnings"` // what will not be as the user may think
	Notes    []string `json:"notes"`    // for people at a terminal
	Details  []string `json:"details"`  // with -v
}

// greeting says what the rules do to files that are already there, what in them has no effect, and what the backing
// can't do.
func (s *settings) greeting(store *backing.Store, table *protocol.Rules, lacks []backing.Lack) (g greeting) {
	for _, r := range s.rules {
		g.Warnings = append(g.Warnings, r.Warnings()...)
	}
	for _, l := range lacks {
		if l.Feature == "reflink" { // most filesystems lack it, and most users need not care
			g.Details = append(g.Details, "note: no reflink on this filesystem: "+l.Meaning)
			continue
		}
		g.Warnings = append(g.Warnings, l.Meaning)
	}
	if !isEmpty(store) {
		g.describe(table)
	}
	if !s.foreground {
		g.Notes = append(g.Notes, s.logNote())
	}
	return g
}

// describe tells of the rules in short, and of all name tables with -v.
func (g *greeting) describe(table *protocol.Rules) {
	for _, line := range table.Describe() {
		if strings.HasPrefix(line, "queues: ") || strings.HasPrefix(line, "other classes: ") {
			g.Notes = append(g.Notes, "what lies there already counts as new files do; "+line)
			continue
		}
		g.Details = append(g.Details, line)
	}
	g.Notes = append(g.Notes, "some names are of unfinished files, locks or logs: airlockfs rules PATH says what one is, -v lists all")
}

func (s *settings) logNote() string {
	if s.logFile != "" {
		return "the log goes to " + show.Name(s.logFile)
	}
	return "there is no log: --log FILE makes one; airlockfs events MOUNTPOINT shows what happened last"
}

// text is what is printed: to programs only what they would not expect.
func (g greeting) text(verbose, terminal bool) string {
	lines := g.Found
	for _, w := range g.Warnings {
		lines = append(lines, "warning: "+w)
	}
	if terminal || verbose {
		lines = append(lines, g.Notes...)
	}
	if verbose {
		lines = append(lines, g.Details...)
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

var errFound = errors.New("found")

// isEmpty tells whether the backing holds nothing but the control folder.
func isEmpty(store *backing.Store) bool {
	err := store.List("", func(e backing.Entry) error {
		if e.Name == backing.Control {
			return nil
		}
		return errFound
	})
	return err == nil
}

// hiddenByMount warns of files that can't be reached while the mount covers them.
func hiddenByMount(from, at string) []string {
	source, err1 := os.Stat(from)
	target, err2 := os.Stat(at)
	left, err3 := os.ReadDir(at)
	if errors.Join(err1, err2, err3) != nil || os.SameFile(source, target) || len(left) == 0 {
		return nil
	}
	return []string{"the mountpoint " + show.Name(at) + " is not empty: what lies in it is hidden until airlockfs umount"}
}
