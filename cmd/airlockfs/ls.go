package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

const lsHelp = `List folders of a mount as you see them, a line for each file: its state, whose it is, for
how long, its size, its name. With --hidden, also what is there and not seen: what is
being written, claimed by others, held back or in quarantine; root and the mount's owner
see all of that, other users what is theirs. "published" is a file that is public:
everybody sees it, and one may take it. Nothing is opened, so nothing is claimed.`

func newLsCommand() *cobra.Command {
	var hidden, asJSON bool
	var colours string
	cmd := &cobra.Command{
		Use:     "ls [--hidden] [PATH…]",
		Short:   "list folders, with the state and owner of each file",
		Long:    lsHelp,
		Example: "  airlockfs ls --hidden /mnt/in/orders",
	}
	cmd.Flags().BoolVar(&hidden, "hidden", false, "list what you don't see, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON array")
	addColour(cmd, &colours)
	cmd.ValidArgsFunction = completeMountpoints
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		all := []entry{}
		for _, arg := range args {
			entries, err := listPath(arg, hidden)
			if err != nil {
				return err
			}
			all = append(all, entries...)
		}
		if asJSON {
			for n := range all {
				all[n].Number = all[n].Item.Item
			}
			return show.JSON(cmd.OutOrStdout(), all)
		}
		return printEntries(show.NewScreen(cmd.OutOrStdout(), colours), all, len(args) > 1, time.Now())
	}
	return cmd
}

// entry is a line of a listing: a version of a file, or something else that has a name.
type entry struct {
	report.Item
	Type    string `json:"type"`           // file folder link special
	Visible bool   `json:"visible"`        // the caller sees it under its name
	Number  uint64 `json:"item,omitempty"` // only versions that are known to be not, or not only, public have one
}

// listPath is what there is in a folder of a mount, or under a name.
func listPath(arg string, hidden bool) ([]entry, error) {
	m, err := findMount(arg)
	if err != nil {
		return nil, err
	}
	status, err := m.status() // first: it says so if the daemon died
	if err != nil {
		return nil, err
	}
	names, folder, err := namesAt(m)
	if err != nil {
		return nil, failf(exitProblems, "%s can't be listed: %w", show.Name(arg), plain(err))
	}
	if status, err = m.status(); err != nil { // again: listing a folder finds what is written there from outside
		return nil, err
	}
	var all []entry
	for _, name := range names {
		if e, ok := visible(m.root, name, status.Items); ok {
			all = append(all, e)
		}
	}
	for _, i := range status.Items {
		if hidden && i.State != reserved && (i.Path == m.path || folder && path.Dir(i.Path) == m.path) && !slices.ContainsFunc(all, sameVersion(i)) {
			all = append(all, entry{Item: i, Type: "file"})
		}
	}
	if len(all) == 0 && !folder {
		return nil, m.mustSee(arg)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// reserved is the state of a public file that is somebody's turn.
const reserved = "reserved"

// namesAt are the paths that the caller sees in a folder, or the one path asked for.
func namesAt(m livingMount) (names []string, folder bool, err error) {
	at := filepath.Join(m.root, m.path)
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.IsDir():
		return []string{m.path}, false, nil
	}
	children, err := os.ReadDir(at)
	for _, c := range children {
		names = append(names, path.Join(m.path, c.Name()))
	}
	return names, true, err
}

// visible is what the caller sees under a name: of his own versions what the mount says of them.
func visible(root, name string, known []report.Item) (entry, bool) {
	at := filepath.Join(root, name)
	info, err := os.Lstat(at)
	if err != nil {
		return entry{}, false // it went away meanwhile
	}
	e := entry{Item: publicItem(name, info), Type: kindName(info.Mode()), Visible: true}
	if e.Type != "file" {
		return e, true
	}
	e.State, e.Attempts = xattr(at, stateAttr), attemptsOn(at)
	for _, i := range known {
		if i.Path == name && i.State == e.State {
			e.Item = i
		}
	}
	return e, true
}

// sameVersion tells whether an entry is the visible one of a name that means this item.
func sameVersion(i report.Item) func(entry) bool {
	return func(e entry) bool {
		return e.Visible && e.Path == i.Path && e.State == i.State && e.Since.Equal(i.Since)
	}
}

func kindName(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "folder"
	case fs.ModeSymlink:
		return "link"
	}
	return "special"
}

// printEntries prints a line each; with their paths if they are of several folders.
func printEntries(s show.Screen, entries []entry, paths bool, now time.Time) error {
	t := show.Table{Columns: []show.Column{{Heading: "STATE"}, {Heading: "OWNER", Least: 6}, {Heading: "AGE", Right: true}, {Heading: "SIZE", Right: true},
		{Heading: "NAME", Least: 12}}}
	for _, e := range entries {
		name, size := path.Base(e.Path), show.Size(e.Size)
		if paths {
			name = e.Path
		}
		owner := show.User(e.UID)
		if e.Owner != nil {
			owner = show.Owner(e.Owner)
		}
		state, colour := e.State, stateColour(e.Item)
		if e.Type != "file" {
			state, colour, size = e.Type, "", "-"
		}
		name = show.Name(name)
		if e.Type == "folder" {
			name += "/"
		}
		t.Add(colour, state, owner, show.Age(now.Sub(e.Since)), size, name)
	}
	if len(entries) == 0 {
		return nil
	}
	return t.Print(s)
}

// publicItem is a file as everybody sees it.
func publicItem(name string, info fs.FileInfo) report.Item {
	st := info.Sys().(*syscall.Stat_t)
	i := report.Item{Path: name, State: "published", Since: time.Unix(st.Ctim.Unix()), Size: info.Size(), UID: st.Uid}
	if !utf8.ValidString(name) {
		i.Raw = []byte(name)
	}
	return i
}

// addColour adds the flag that says when output has colours.
func addColour(cmd *cobra.Command, when *string) {
	cmd.Flags().Var(newChoice(when, "auto", "always", "never"), "color",
		"colours, `WHEN`: auto (on a terminal, without NO_COLOR in the environment), always, never")
	completeFlags(cmd, cmd.Flags())
}
