package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/protocol"
)

func newRulesCommand() *cobra.Command {
	s := &settings{}
	var asJSON bool
	all := s.mountFlags()
	cmd := &cobra.Command{
		Use:   "rules [--config FILE] [flags] [PATH…]",
		Short: "say what a name is, and by which rule",
		Long: `Say which class and switches the rules and name tables give to PATH, and why. If a
configuration or any flag is given these are asked, with PATH relative to the mount, or
an absolute one that is on a mount;
without PATH they are checked, and the rules listed, those that are asked first at the
top. Otherwise the rules of the mount that PATH is on are asked. The file need not
exist.`,
		Example: `  airlockfs rules /srv/drop/report.csv
  airlockfs rules --config /etc/airlockfs/drop.yaml
  airlockfs rules --config /etc/airlockfs/drop.yaml done/report.csv`,
	}
	for _, name := range nameFlags {
		cmd.Flags().AddFlag(all.Lookup(name))
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON array, an object per PATH, or per rule if there is no PATH")
	completeFlags(cmd, all)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := slices.ContainsFunc(nameFlags, cmd.Flags().Changed)
		if !given && len(args) == 0 {
			return failf(exitUsage, "an argument is missing: write airlockfs rules PATH…, or airlockfs rules --config FILE")
		}
		if err := s.readConfig(all); err != nil {
			return err
		}
		if len(args) == 0 {
			return s.printRules(cmd.OutOrStdout(), asJSON)
		}
		return s.explain(cmd.OutOrStdout(), args, given, asJSON)
	}
	return cmd
}

// nameFlags are the flags that say what names are.
var nameFlags = []string{"config", "rule", "temp", "no-temp", "ignore-litter"}

// explain says what names are, by the rules that were given or else those of the mount that they are on.
func (s *settings) explain(out io.Writer, paths []string, given, asJSON bool) error {
	var all []matched
	for _, path := range paths {
		asked, name, err := s.askedFor(path, given)
		if err != nil {
			return err
		}
		table, err := asked.ruleTable()
		if err != nil {
			return err
		}
		all = append(all, match(name, table))
	}
	if asJSON {
		return show.JSON(out, all)
	}
	for _, m := range all {
		if err := m.print(out); err != nil {
			return err
		}
	}
	return nil
}

// askedFor are the rules that a path is asked about, and what it is called in their mount.
func (s *settings) askedFor(path string, given bool) (*settings, string, error) {
	if !given {
		return rulesOf(path)
	}
	name, err := nameInMount(path)
	return s, name, err
}

// nameInMount is the path in the mount that rules are for, which were given and need not be of any mount.
func nameInMount(path string) (string, error) {
	if filepath.IsLocal(path) {
		return path, nil
	}
	if m, err := findMount(path); err == nil && filepath.IsAbs(path) {
		return m.path, nil
	}
	return "", failf(exitUsage, "%s is no path in a mount: where rules are given, write it as it is below the mount, such as done/report.csv", show.Name(path))
}

// rulesOf gives the rules of the mount that a path is on, and the path in it.
func rulesOf(path string) (*settings, string, error) {
	m, err := findMount(path)
	if err != nil {
		return nil, "", err
	}
	facts, err := m.facts()
	if err != nil {
		return nil, "", err
	}
	s := &settings{temp: facts.Temp, noTemp: facts.NoTemp, ignoreLitter: facts.IgnoreLitter}
	for i, text := range facts.Rules {
		from := "" // of a mount whose program is older than this one
		if i < len(facts.RulesFrom) {
			from = facts.RulesFrom[i]
		}
		if err := s.acceptRule(text, from); err != nil {
			return nil, "", err
		}
	}
	return s, m.path, nil
}

// listed is one rule.
type listed struct {
	Rule  string   `json:"rule"`
	From  string   `json:"from"`
	Notes []string `json:"notes"` // what in it has no effect
}

// printRules lists the rules in the order in which they are asked.
func (s *settings) printRules(out io.Writer, asJSON bool) error {
	table, err := s.ruleTable()
	if err != nil {
		return err
	}
	all := []listed{}
	rows := [][]string{}
	for _, r := range table.InOrder() {
		all = append(all, listed{r.String(), r.Origin(), append([]string{}, r.Warnings()...)})
		rows = append(rows, []string{show.Name(r.String()), r.Origin()})
	}
	if asJSON {
		return show.JSON(out, all)
	}
	rows = append(rows, []string{"everything else: queue", "default"})
	err = show.Rows(out, rows)
	for _, r := range all {
		for _, note := range r.Notes {
			fmt.Fprintln(out, "note: "+note)
		}
	}
	return err
}

// matched is what the rules say of one name.
type matched struct {
	Name    string   `json:"name"` // in the mount
	Class   string   `json:"class"`
	Rule    string   `json:"rule"` // class and switches, as a rule writes them
	Because string   `json:"because"`
	Also    []string `json:"also"`
	Given   string   `json:"given"` // the rule that matched, as it was written; "" if none did
	From    string   `json:"from"`  // where that was: FILE:LINE, or --rule
	Notes   []string `json:"notes"` // what in it has no effect
}

func match(name string, table *protocol.Rules) matched {
	name = strings.Trim(path.Clean("/"+name), "/")
	folder, base := path.Split(name)
	folder = strings.TrimSuffix(folder, "/")
	at := table.At(folder, base)
	m := matched{Name: name, Class: at.Class.String(), Rule: at.Vector.String(), Because: at.Why, Also: traits(at), Notes: []string{}}
	if r, found := table.Deciding(folder, base); found {
		m.Given, m.From, m.Notes = r.String(), r.Origin(), append(m.Notes, r.Warnings()...)
	}
	return m
}

func (m matched) print(out io.Writer) error {
	rows := [][]string{{"name", show.Name(cmp.Or(m.Name, "the mount itself"))}, {"class", m.Rule}, {"because", m.Because}}
	if m.Given != "" && !strings.HasPrefix(m.Because, "rule ") { // a name table decided
		rows = append(rows, []string{"rule", show.Name(m.Given) + "  " + m.From})
	}
	for _, trait := range m.Also {
		rows = append(rows, []string{"also", trait})
	}
	for _, note := range m.Notes {
		rows = append(rows, []string{"note", note})
	}
	return show.Rows(out, rows)
}

// traits are what a match says beyond its vector.
func traits(m protocol.Match) []string {
	all := []string{}
	for _, t := range []struct {
		is   bool
		text string
	}{
		{m.Temp == protocol.TempByName, "a temp name: hidden until renamed"},
		{m.Temp == protocol.TempIfExclusive, "a temp name if created O_RDWR|O_CREAT|O_EXCL with mode 0600"},
		{m.Resumable, "resumable: after its writer was killed the same user may go on"},
		{m.Unlisted, "unlisted: found by its exact name only"},
		{m.LogIfAppend, "class log if created with O_APPEND"},
		{m.PlainIfDatabase, "class plain if created O_RDWR|O_CREAT without O_EXCL and O_TRUNC"},
		{m.Marker, "a marker: says that others are complete"},
		{m.Litter, "litter: private to its maker"},
	} {
		if t.is {
			all = append(all, t.text)
		}
	}
	return all
}
