package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// orderHelp is what the commands that give orders have in common.
const orderHelp = `

Root and the mount's owner may do this to every file, other users to what is theirs
(airlockfs status lists it). Each is an event, and a line in the log. If several files
stand behind PATH, airlockfs says which, and --item chooses one.`

// orderFlags are the flags of the commands that give orders.
type orderFlags struct {
	order  report.Order
	asJSON bool
}

// newOrderCommand makes the command that gives one order, about items in some states; its flags are what was written on
// the command line.
func newOrderCommand(do, short, long string, states ...string) (*cobra.Command, *orderFlags) {
	f := &orderFlags{order: report.Order{Do: do}}
	use := do + " PATH…"
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long + orderHelp, Args: takesSome("airlockfs " + use),
		ValidArgsFunction: completeItems(states...),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.give(cmd, args, nil) },
	}
	f.add(cmd)
	return cmd, f
}

func (f *orderFlags) add(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.order.Item, "item", 0, "which `ID`, if several files stand behind PATH")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "for programs: one JSON array, an object per PATH")
}

func (f *orderFlags) addAs(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.order.As, "as", "", "deliver it under another `NAME` of the same folder")
}

// answered is an order for one path, with what came of it.
type answered struct {
	Mount string `json:"mount"`
	Order string `json:"order"`
	Named string `json:"named"` // the path, as it was given
	report.Outcome
}

// give gives an order for each path, and tells what came of it. confirm: who gives it is asked first, and may be nil.
func (f *orderFlags) give(cmd *cobra.Command, paths []string, confirm func(answered) bool) error {
	if (f.order.As != "" || f.order.Item != 0) && len(paths) > 1 {
		return failf(exitUsage, "--as and --item are for one PATH")
	}
	if as := cmd.Flags().Lookup("as"); as != nil && as.Changed && !isName(f.order.As) {
		return failf(exitUsage, "--as %q: write a name in the same folder, without a slash", f.order.As)
	}
	var all []answered
	refused := 0
	for _, path := range paths {
		o, err := f.giveOne(path, confirm)
		if err != nil {
			return err
		}
		if all = append(all, o); o.Done {
			continue
		}
		refused++
		if !f.asJSON && o.Refused != "" {
			o.printRefusal(cmd.ErrOrStderr(), time.Now())
		}
	}
	if err := f.print(cmd.OutOrStdout(), all); err != nil || refused == 0 {
		return err
	}
	return exitWith(exitProblems)
}

// isName tells whether a file may have the name, and an order can say it.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && utf8.ValidString(name)
}

func (f *orderFlags) print(out io.Writer, all []answered) error {
	if f.asJSON {
		return show.JSON(out, all)
	}
	for _, o := range all {
		if o.Done {
			fmt.Fprintln(out, o.sentence(time.Now()))
		}
	}
	return nil
}

func (f *orderFlags) giveOne(path string, confirm func(answered) bool) (o answered, err error) {
	m, err := findMount(path)
	if err != nil {
		return o, err
	}
	order := f.order
	if order.Path = m.path; !utf8.ValidString(m.path) {
		order.Raw = []byte(m.path)
	}
	o = answered{Mount: m.root, Order: order.Do, Named: path}
	if confirm != nil {
		order.Try = true
		if o.Outcome, err = m.order(order); err != nil || o.Refused != "" || !confirm(o) {
			return o.orPublic(m), err
		}
		order.Try, order.Item = false, o.Item.Item // what was asked about, and nothing that came meanwhile
	}
	o.Outcome, err = m.order(order)
	return o.orPublic(m), err
}

// orPublic explains an order about something that needs none, as this user sees it.
func (o answered) orPublic(m livingMount) answered {
	if o.Refused == "" || o.Item != nil || len(o.Choices) > 0 {
		return o
	}
	path := filepath.Join(m.root, m.path)
	info, err := os.Lstat(path)
	holds, use := xattr(path, holdsAttr), m.use()
	switch {
	case err != nil:
		o.Refused += ": airlockfs status " + show.Argument(o.Mount) + " lists those there are"
	case use != "":
		o.Refused = use
	case info.IsDir():
		o.Refused = "it is a folder: airlockfs why " + show.Argument(o.Named) + " lists what is hidden in it"
	case holds != "":
		o.Refused = "it is " + holds + ": only its owner, root and the mount's owner may " + o.Order + " it"
	case o.Order == "discard":
		o.Refused = "it is public: remove it with rm"
	default:
		o.Refused = "it is public already"
	}
	return o
}

// use is what keeps others from a name that everybody sees: it is somebody's mark, or his turn.
func (m livingMount) use() string {
	s, _ := m.status() // of others' marks only root and the mount's owner are told
	for _, i := range s.Items {
		if i.Path == m.path && (i.State == "marked" || i.State == reserved) {
			return "it is " + i.State + ": " + i.Reason + ", until " + i.Lifts
		}
	}
	return ""
}

// order gives an order to the daemon, and waits for what comes of it.
func (m livingMount) order(o report.Order) (out report.Outcome, err error) {
	request, err := json.Marshal(o)
	if err != nil {
		return out, err
	}
	f, err := os.OpenFile(filepath.Join(m.root, backing.Control, "command"), os.O_RDWR, 0)
	if err != nil {
		return out, m.takesNoOrders(err)
	}
	defer f.Close()
	if _, err = f.Write(request); err != nil {
		return out, m.takesNoOrders(err)
	}
	answer, err := io.ReadAll(f)
	if err != nil {
		return out, m.takesNoOrders(err)
	}
	return out, json.Unmarshal(answer, &out)
}

func (m livingMount) takesNoOrders(err error) error {
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return daemonDied(m.root)
	case errors.Is(err, syscall.EROFS):
		return failf(exitProblems, "%s is mounted read-only: nothing can be changed on it", show.Name(m.root))
	case errors.Is(err, syscall.ENOENT):
		return failf(exitNoMount, "the daemon of %s is of a version that takes no orders: mount again", show.Name(m.root))
	}
	return failf(exitNoMount, "the mount %s takes no orders: %w", show.Name(m.root), plain(err))
}

// sentence says what was done.
func (o answered) sentence(now time.Time) string {
	text := show.Name(o.Named) + ": " + orderDone[o.Order] + "; it was " + o.was(now)
	switch {
	case o.State == "gone":
		return text
	case o.State == "held":
		return text + "; it waits until the newer file of that name is taken"
	case o.State == "published" && o.Path != o.Item.Path:
		return text + "; it is public as " + show.Name(filepath.Join(o.Mount, o.Path))
	case o.State != "published":
		return text + "; it is " + o.State
	}
	return text + "; it is public"
}

var orderDone = map[string]string{"release": "released", "requeue": "requeued", "discard": "discarded", "publish": "published"}

// was is what the item was before, and whose.
func (o answered) was(now time.Time) string {
	i := o.Item
	text := i.State + " for " + show.Age(now.Sub(i.Since))
	switch {
	case i.Owner != nil:
		text += ", of " + show.Owner(i.Owner)
	case i.State != "held":
		text += ", of " + show.User(i.UID)
	}
	if i.Attempts > 0 && o.Order == "requeue" {
		text += ", after " + show.Count(i.Attempts, "attempt", "attempts") + " that ended badly, which count no more"
	}
	return text
}

// printRefusal says why nothing was done, and lists what may have been meant.
func (o answered) printRefusal(out io.Writer, now time.Time) {
	fmt.Fprintf(out, "airlockfs: %s: not %s: %s\n", show.Name(o.Named), orderDone[o.Order], show.Name(o.Refused))
	rows := [][]string{}
	for _, i := range o.Choices {
		rows = append(rows, []string{fmt.Sprintf("  --item %d", i.Item), i.State, show.Age(now.Sub(i.Since)), show.Count(int(i.Size), "byte", "bytes"), show.Name(i.Reason)})
	}
	_ = show.Rows(out, rows) // as for every error, nobody is left to tell
}
