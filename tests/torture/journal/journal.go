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
	Loose bool  // At was taken by another clock, and may be off by Slack
	Actor string
	Verb  string
	Args  []string
}

// Slack bounds how far a time of a shell is off, in nanoseconds: shells know only the wall clock.
const Slack = 20_000_000

func (l Line) String() string {
	return fmt.Sprintf("%14.6f  %-8s %s %s", float64(l.At)/1e9, l.Actor, l.Verb, strings.Join(l.Args, " "))
}

// Now is the time of a line.
func Now() int64 { return clock(unix.CLOCK_MONOTONIC) }

// Offset is what to add to a time of the wall clock.
func Offset() int64 { return clock(unix.CLOCK_MONOTONIC) - clock(unix.CLOCK_REALTIME) }

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
func Read(dir string, offset int64) ([]Line, error) {
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
		lines, err := parse(strings.TrimSuffix(filepath.Base(file), ".log"), b, offset)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// parse reads one actor's journal. A time that begins with w is the wall clock's, in microseconds.
func parse(actor string, b []byte, offset int64) ([]Line, error) {
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
		if loose {
			at = at*1000 + offset
		}
		if n := len(lines); n > 0 {
			at = max(at, lines[n-1].At) // the wall clock may have been set back a little
		}
		lines = append(lines, Line{At: at, Loose: loose, Actor: actor, Verb: words[1], Args: words[2:]})
	}
	return lines, nil
}
