package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// olderOne is a version that was written over and is kept for a time (docs/format.md, "replaced").
type olderOne struct {
	Until time.Time `json:"until"`
	Bytes string    `json:"bytes"` // an absolute path
}

// olderVersions finds those of a name. Only who may look into the control folder finds any: root, or who mounted.
func olderVersions(m livingMount) []olderOne {
	found := []olderOne{}
	root, err := findBacking(m.root)
	if err != nil {
		return found
	}
	defer root.close()
	control := filepath.Join(root.path, backing.Control)
	places, _ := os.ReadDir(filepath.Join(control, "replaced")) // none, or not for this user
	for _, p := range places {
		until, folder, ok := replacedPlace(control, p.Name())
		if !ok || path.Clean(folder) != path.Dir(m.path) {
			continue
		}
		name := filepath.Join("replaced", p.Name(), path.Base(m.path))
		if _, err := os.Lstat(filepath.Join(control, name)); err == nil {
			found = append(found, olderOne{until, filepath.Join(root.name, backing.Control, name)})
		}
	}
	slices.SortFunc(found, func(a, b olderOne) int { return a.Until.Compare(b.Until) })
	return found
}

// shownOlder is how many older versions a person is shown: a state file has one for each time it was written in the last day.
const shownOlder = 5

// printOlder lists the older versions, the last one first.
func printOlder(out io.Writer, all []olderOne) {
	if len(all) > 0 {
		fmt.Fprintln(out)
	}
	for n, o := range slices.Backward(all) {
		if len(all)-n > shownOlder {
			fmt.Fprintf(out, "and %d more, from before: airlockfs why --json lists them\n", n+1)
			return
		}
		fmt.Fprintf(out, "an older version, written over, is kept until %s: %s\n", o.Until.Format(time.DateTime), show.Name(o.Bytes))
	}
}

// replacedPlace reads UNTIL~KEY, and the folder's path by its key.
func replacedPlace(control, place string) (until time.Time, folder string, ok bool) {
	nanoseconds, key, _ := strings.Cut(place, "~")
	n, err := strconv.ParseInt(nanoseconds, 10, 64)
	if err != nil {
		return until, "", false
	}
	if key != "0" { // the root
		folder, err = os.Readlink(filepath.Join(control, "folders", key))
	}
	return time.Unix(0, n), folder, err == nil
}
