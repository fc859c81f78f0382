// Package failpoint makes chosen calls of a backing fail, or take their time. It is for tests: only a build with the tag
// failpoints links it into the program.
package failpoint

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
)

// point is one rule: which calls it counts, and what happens to some of them.
type point struct {
	call, place string // "*" and "": any
	errno       error  // nil: it only takes long
	delay       time.Duration
	first, last uint64 // counted from 1, both included
	seen        atomic.Uint64
}

// Parse makes backing.Options.Before of rules, separated by commas, each
// CALL[@PLACE]:FAULT:WHEN.
//
// CALL is the name of a call as in the backing's trace, or "*". With PLACE only
// calls count on an object whose path below the backing contains that. FAULT is
// the name of an errno, or "delay=" and a duration. WHEN is "*", or a number N,
// "N-" or "N-M": of the calls that count, from 1. The first rule that answers an
// error decides; delays add up.
func Parse(text string) (func(backing.Call) error, error) {
	var points []*point
	for rule := range strings.SplitSeq(text, ",") {
		p, err := parse(rule)
		if err != nil {
			return nil, fmt.Errorf("the fail point %q: %w", rule, err)
		}
		points = append(points, p)
	}
	return func(c backing.Call) error {
		for _, p := range points {
			if err := p.meet(c); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// meet is safe for concurrent use.
func (p *point) meet(c backing.Call) error {
	if p.call != "*" && p.call != c.Name || !strings.Contains(c.Object.String(), p.place) && !strings.Contains(c.To.String(), p.place) {
		return nil
	}
	if n := p.seen.Add(1); n < p.first || n > p.last {
		return nil
	}
	time.Sleep(p.delay)
	return p.errno
}

func parse(rule string) (*point, error) {
	parts := strings.Split(rule, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("it must have three parts, CALL:FAULT:WHEN")
	}
	p := &point{}
	p.call, p.place, _ = strings.Cut(parts[0], "@")
	if p.call == "" {
		return nil, fmt.Errorf("which call? * means any")
	}
	if err := p.parseFault(parts[1]); err != nil {
		return nil, err
	}
	return p, p.parseWhen(parts[2])
}

func (p *point) parseFault(text string) (err error) {
	if delay, ok := strings.CutPrefix(text, "delay="); ok {
		p.delay, err = time.ParseDuration(delay)
		return err
	}
	for e := syscall.Errno(1); e < 256; e++ {
		if text != "" && unix.ErrnoName(e) == text {
			p.errno = e
			return nil
		}
	}
	return fmt.Errorf("%q is no errno and no delay", text)
}

func (p *point) parseWhen(text string) (err error) {
	p.first, p.last = 1, 1<<63
	if text == "*" {
		return nil
	}
	first, last, more := strings.Cut(text, "-")
	if p.first, err = strconv.ParseUint(first, 10, 63); err != nil {
		return err
	}
	switch {
	case !more:
		p.last = p.first
	case last != "":
		p.last, err = strconv.ParseUint(last, 10, 63)
	}
	if err == nil && (p.first == 0 || p.last < p.first) {
		err = fmt.Errorf("%q is no range of numbers from 1", text)
	}
	return err
}
