// Package journal is what the actors of a torture run write down: one line per step, outside of the mount.
//
// An actor writes what it is about to do, does it, and writes what came of it. So of an actor that was killed it is known
// which step is in doubt. Lines are appended by one write(2) each and are not synced: a process that is killed leaves
// whole lines, or at worst a last one without its end, which is not read.
package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Line is one step.
type Line struct {
	At    int64 // nanoseconds, CLOCK_MONOTONIC
	Slack int64 // by how much At may be off, in nanoseconds: it was taken by another clock
	Actor string
	Verb  string
	Args  []string
}

// slack bounds how far a time of a shell is off, in nanoseconds: shells know only the wall clock, in microseconds, and a line
// is written by two of their steps.
const slack = 20_000_000

// Clock tells the times of the wall clock from a moment on.
type Clock struct {
	Offset int64 // what to add to them, in nanoseconds
	Drift  int64 // by how much it was set meanwhile
}

// StartClock begins.
func StartClock() Clock { return Clock{Offset: offset()} }

// Stop sees by how much the wall clock was set since: nobody knows when that was, so the times are off by as much.
func (c *Clock) Stop() {
	set := offset() - c.Offset
	c.Drift = max(set, -set)
}

func (l Line) String() string {
	return fmt.Sprintf("%14.6f  %-8s %s %s", float64(l.At)/1e9, l.Actor, l.Verb, strings.Join(l.Args, " "))
}

// Now is the time of a line.
func Now() int64 { return clock(unix.CLOCK_MONOTONIC) }

func offset() int64 { return clock(unix.CLOCK_MONOTONIC) - clock(unix.CLOCK_REALTIME) }

func clock(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic(err) // the clock is always there
	}
	return ts.Nano()
}

// Journal is one actor's.
type Journal struct{ f *os.File }

// Path is the file of an actor's journal.
func Path(dir, actor string) string { return filepath.Join(dir, actor+".log") }

// Open continues an actor's journal.
func Open(dir, actor string) (*Journal, error) {
	f, err := os.OpenFile(Path(dir, actor), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &Journal{f}, nil
}

// Say writes a line. It may be called from several goroutines.
func (j *Journal) Say(verb string, args ...string) {
	line := fmt.Sprintf("%d %s\n", Now(), strings.Join(append([]string{verb}, args...), " "))
	if _, err := j.f.WriteString(line); err != nil {
		panic(err) // what is not written down can't be judged
	}
}

// Close ends writing.
func (j *Journal) Close() error { return j.f.Close() }

// Read gives the lines of all journals of a folder in the order of their times; lines of one actor stay in theirs.
func Read(dir string, c Clock) ([]Line, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, err
	}
	var all []Line
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines, err := parse(strings.TrimSuffix(filepath.Base(file), ".log"), b, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// parse reads one actor's journal. A time that begins with w is the wall clock's, in microseconds.
func parse(actor string, b []byte, c Clock) ([]Line, error) {
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	var lines []Line
	for text := range strings.Lines(string(whole)) {
		words := strings.Fields(text)
		if len(words) < 2 {
			return nil, fmt.Errorf("%q is no line", text)
		}
		stamp, loose := strings.CutPrefix(words[0], "w")
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return nil, err
		}
		off := int64(0)
		if loose {
			at, off = at*1000+c.Offset, slack+c.Drift
		}
		if n := len(lines); n > 0 {
			at = max(at, lines[n-1].At) // the wall clock may have been set back a little
		}
		lines = append(lines, Line{At: at, Slack: off, Actor: actor, Verb: words[1], Args: words[2:]})
	}
	return lines, nil
}
