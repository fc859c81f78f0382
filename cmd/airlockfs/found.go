package main

import (
	"strings"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// foundBefore says what of an earlier mount a new one took up. dead: its daemon had died, and it was replaced.
func foundBefore(at string, dead bool) []string {
	var lines []string
	if dead {
		lines = append(lines, "the mount of a daemon that died was replaced")
	}
	m, err := findMount(at)
	if err != nil {
		return lines // it was mounted a moment ago; the next command will say what became of it
	}
	s, err := m.status()
	if err != nil {
		return lines
	}
	if text := countsText(s.Items); text != "" {
		lines = append(lines, "found: "+text+"; airlockfs status "+show.Argument(m.root)+" lists them")
	}
	return lines
}

// countsText counts items by what they mean to who starts a mount; "" if there are none.
func countsText(items []report.Item) string {
	count := map[string]int{}
	for _, i := range items {
		count[i.State]++
	}
	var parts []string
	for _, k := range []struct{ state, one, more string }{
		{"claimed", "claim goes on", "claims go on"},
		{"quarantined", "file in quarantine", "files in quarantine"},
		{"held", "file held back", "files held back"},
		{"staged", "unfinished file of a living program", "unfinished files of living programs"},
		{"parked", "parked temp file", "parked temp files"},
		{"abandoned", "abandoned temp file", "abandoned temp files"},
	} {
		if n := count[k.state]; n > 0 {
			parts = append(parts, show.Count(n, k.one, k.more))
		}
	}
	return strings.Join(parts, ", ")
}
