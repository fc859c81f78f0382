package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
	"github.com/airlockfs/airlockfs/tests/torture/verdict"
)

// torture is a whole run: it gives the exit status, 1 if something is wrong with what was tortured.
func torture(ctx context.Context, o options, out io.Writer) (code int, err error) {
	fmt.Fprintf(out, "torture: %v on %s, %d actors at once; again: %s\n", o.time, o.on, o.actors, o.again())
	s, err := newStage(o)
	if err != nil {
		return 2, err
	}
	defer func() {
		if e := s.strike(); e != nil {
			code, err = 2, errors.Join(err, e)
		}
	}()
	j, err := journal.Open(s.logs, "driver")
	if err != nil {
		return 2, err
	}
	clock := journal.StartClock()
	d, err := newDriver(o, s, j)
	if err != nil {
		return 2, err
	}
	ran := d.run(ctx)
	dismissed := d.crew.dismiss()
	if d.fullUntil != nil {
		<-d.fullUntil
	}
	f := &final{files: map[string]string{}}
	for _, e := range []error{ran, dismissed} {
		if e != nil {
			f.say("the run could not go on", "%v", e)
		}
	}
	if ran != nil && d.daemon != nil && !d.daemon.mounted() {
		_ = d.daemon.start("") // else all that is hidden would look lost
	}
	f.takeStock(d)
	clock.Stop()
	if o.keep != "" {
		if err := os.CopyFS(o.keep, os.DirFS(s.base)); err != nil {
			return 2, err
		}
	}
	lines, err := journal.Read(s.logs, clock)
	if err != nil {
		return 2, err
	}
	return tell(out, d, f, verdict.Judge(lines, f.found)), nil
}

// mostTold bounds how many violations of a kind are told in full.
const mostTold = 3

// tell prints counts, and what is wrong, with a replay of each.
func tell(out io.Writer, d *driver, f *final, r *verdict.Result) int {
	table(out, "actors started", d.crew.count)
	table(out, "done to them, the daemon and the disk", d.count)
	table(out, "steps, by how they ended", r.Counts)
	table(out, "accepted parcels, by where they ended", r.Where)
	fmt.Fprintf(out, "parcels: %d; histories checked: %d\n", r.Parcels, r.Histories)
	fmt.Fprintf(out, "daemon: %s\n", &d.vitals)
	all := slices.Concat(f.violations, r.Violations)
	if bugs := scriptErrors(filepath.Join(d.stage.side, "actors.txt")); bugs != "" {
		all = append(all, verdict.Violation{Kind: "an actor is broken", Text: bugs})
	}
	code := sentence(out, all, r)
	if code != 0 {
		fmt.Fprintf(out, "what the daemon said last:\n%s\nagain: %s\n", tail(filepath.Join(d.stage.side, "daemon.txt")), d.again())
	}
	return code
}

// sentence tells what is wrong.
func sentence(out io.Writer, all []verdict.Violation, r *verdict.Result) int {
	if len(all) == 0 {
		fmt.Fprintln(out, "torture: nothing torn, nothing taken by two, nothing lost; everything is accounted for")
		return 0
	}
	kinds := map[string]int{}
	for _, v := range all {
		kinds[v.Kind]++
		if kinds[v.Kind] <= mostTold {
			replay(out, r, v)
		}
	}
	table(out, "WRONG", kinds)
	return 1
}

// replay tells a violation, and all that was written down about its parcel.
func replay(out io.Writer, r *verdict.Result, v verdict.Violation) {
	fmt.Fprintf(out, "\n%s: %s %s\n", strings.ToUpper(v.Kind), v.Parcel, v.Text)
	if v.Parcel == "" {
		return
	}
	for _, l := range r.Timeline(v.Parcel) {
		fmt.Fprintf(out, "  %s\n", l)
	}
}

func table(out io.Writer, title string, counts map[string]int) {
	fmt.Fprintf(out, "%s:\n", title)
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		fmt.Fprintf(out, "  %7d  %s\n", counts[name], name)
	}
}

// tail is the end of a file.
func tail(file string) string {
	b, _ := os.ReadFile(file)
	return string(b[max(0, len(b)-2000):])
}

// scriptErrors is what actors said that is no failed call, but a fault of theirs.
func scriptErrors(file string) string {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		for _, sign := range []string{"panic:", "Traceback", "SyntaxError", "command not found", "unbound variable", "syntax error"} {
			if strings.Contains(line, sign) {
				return string(b[max(0, len(b)-3000):])
			}
		}
	}
	return ""
}
