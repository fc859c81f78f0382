package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

func newWhyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why PATH…",
		Short: "explain a file: what holds it back, whose, what would lift it",
		Long: `Say everything about names in a mount: what this caller sees under them, and each
version that is hidden, claimed, held back or in quarantine, with what would change
that and where the bytes are. It works for names that the caller can't see, too. Of a
folder it lists what lies in it unseen, and keeps it from being removed or moved. Last
come locks on the file and on its lock file, who waits, and older versions. What was
refused is in airlockfs events PATH.`,
		Args: takesSome("airlockfs why PATH…"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON array, an object per PATH")
	cmd.ValidArgsFunction = completeAnyPath
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all := []explanation{}
		var errs []error
		for _, path := range args {
			if e, err := explanationOf(path); err == nil {
				all = append(all, e)
			} else {
				errs = append(errs, err)
			}
		}
		if asJSON {
			return errors.Join(append(errs, show.JSON(cmd.OutOrStdout(), all))...)
		}
		for n, e := range all {
			if n > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			e.print(cmd.OutOrStdout(), time.Now())
		}
		return errors.Join(errs...)
	}
	return cmd
}

// explanation is all that can be said of one name.
type explanation struct {
	Path     string        `json:"path"`
	Seen     string        `json:"seen"` // what the caller finds, as a sentence
	Attempts int           `json:"attempts"`
	Items    []report.Item `json:"items"` // of this name, or with this home
	Below    []report.Item `json:"below"` // of a folder: what lies in it unseen
	Locks    []report.Lock `json:"locks"`
	Older    []olderOne    `json:"older"` // versions that were written over

	mount        livingMount
	store        string
	all          bool   // Items are everybody's
	state, holds string // the attributes of what the caller sees
}

// looks bounds how often a file is looked at that goes on to another state between two questions.
const looks = 5

func explanationOf(path string) (e explanation, err error) {
	m, err := findMount(path)
	if err != nil {
		return e, err
	}
	for range looks {
		if e, err = m.explain(); err != nil || e.agrees() && xattr(filepath.Join(m.root, m.path), stateAttr) == e.state {
			break
		}
	}
	return e, err
}

// explain asks what the caller sees, and then the mount. The look comes first: it finds what is written from outside.
func (m livingMount) explain() (e explanation, err error) {
	at := filepath.Join(m.root, m.path)
	e = explanation{Path: m.path, Seen: seen(at), Attempts: attemptsOn(at), Items: []report.Item{}, Below: []report.Item{},
		Locks: []report.Lock{}, Older: olderVersions(m), mount: m, state: xattr(at, stateAttr), holds: xattr(at, holdsAttr)}
	s, err := m.status()
	if err != nil {
		return e, err
	}
	locks, err := m.locks()
	if err != nil {
		return e, err
	}
	e.store, e.all = s.Backing, s.All
	for _, i := range s.Items {
		switch {
		case i.Path == m.path || i.Home == m.path:
			e.Items = append(e.Items, i)
		case m.path == "." || isBelow(i.Path, m.path):
			e.Below = append(e.Below, i)
		}
	}
	for _, l := range locks.Locks {
		if l.Path == m.path || l.Path == m.path+".lock" {
			e.Locks = append(e.Locks, l)
		}
	}
	return e, nil
}

// agrees tells whether what is seen and what the mount says are of the same moment.
func (e explanation) agrees() bool {
	return !e.all || !e.withheld() || slices.ContainsFunc(e.Items, func(i report.Item) bool { return i.State == e.state })
}

// withheld: the caller sees a file that is not public.
func (e explanation) withheld() bool { return e.state != "" && e.state != "published" }

func (e explanation) print(out io.Writer, now time.Time) {
	fmt.Fprintf(out, "%s: %s\n", show.Name(e.name()), e.Seen)
	if e.Attempts > 0 {
		fmt.Fprintf(out, "%s to work on it ended badly\n", show.Count(e.Attempts, "attempt", "attempts"))
	}
	switch {
	case len(e.Items)+len(e.Below) > 0:
	case e.withheld():
		fmt.Fprintln(out, "it is "+cmp.Or(e.holds, e.state)+": only its owner, root and the mount's owner are told more")
	default:
		fmt.Fprintln(out, "nothing that you may know of is hidden, claimed or held back under it")
	}
	for _, i := range e.Items {
		explainItem(out, i, e.store, now)
		e.printOrders(out, i)
	}
	e.printBelow(out)
	for _, l := range e.Locks {
		fmt.Fprintf(out, "\n%s\n", lockSentence(l, e.Path, now))
	}
	printOlder(out, e.Older)
}

// name is the path in the mount, or the mount itself.
func (e explanation) name() string {
	if e.Path == "." {
		return e.mount.root
	}
	return e.Path
}

// printBelow explains a folder.
func (e explanation) printBelow(out io.Writer) {
	if len(e.Below) == 0 {
		return
	}
	fmt.Fprintln(out, "\nin it, and not seen by everybody; rmdir may answer ENOTEMPTY for them, and mv of the folder EBUSY:")
	rows := [][]string{}
	for _, i := range e.Below {
		rows = append(rows, []string{"  " + i.State, show.Name(i.Path), show.Owner(i.Owner), show.Name(i.Reason)})
	}
	_ = show.Rows(out, rows) // as for every line of this page, nobody is left to tell
}

// ordersFor are the orders that items of a state are meant by, with what they are for.
var ordersFor = map[string][][2]string{
	"claimed":     {{"to give it back to everybody:", "release"}},
	"held":        {{"to show it now:", "publish"}},
	"parked":      {{"to deliver it:", "publish --as NAME"}, {"to remove it for good:", "discard"}},
	"abandoned":   {{"to deliver it all the same:", "requeue --as NAME"}, {"to remove it for good:", "discard"}},
	"quarantined": {{"to deliver it all the same:", "requeue"}, {"to remove it for good:", "discard"}},
}

// printOrders says what can be done about a version. If there are several, each is named by its number.
func (e explanation) printOrders(out io.Writer, i report.Item) {
	path := show.Argument(filepath.Join(e.mount.root, i.Path))
	if len(e.Items) > 1 {
		path = fmt.Sprintf("--item %d %s", i.Item, path)
	}
	for _, o := range ordersFor[i.State] {
		fmt.Fprintf(out, "  %-28s airlockfs %s %s\n", o[0], o[1], path)
	}
}

// seen is what the caller finds under the name.
func seen(path string) string {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return "you see nothing under this name"
	case err != nil:
		return "you can't look: " + plain(err).Error()
	case !info.Mode().IsRegular():
		return fmt.Sprintf("you see a %s", kindOf(info.Mode()))
	}
	text := fmt.Sprintf("you see a file of %s", show.Count(int(info.Size()), "byte", "bytes"))
	if state := xattr(path, stateAttr); state != "" {
		text += ", " + state
	}
	if class := xattr(path, "user.airlockfs.class"); class != "" {
		text += ", class " + class
	}
	return text
}

func kindOf(mode os.FileMode) string {
	switch mode.Type() {
	case os.ModeDir:
		return "folder"
	case os.ModeSymlink:
		return "symbolic link"
	}
	return "special file"
}
