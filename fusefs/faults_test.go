package fusefs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

// faults are what a disk may answer to any call.
var faults = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENAMETOOLONG, syscall.ENOMEM}

// outage is when the disk fails: at the n-th call of a plot, at that and the next one, or from then on until its end.
type outage struct {
	n     int
	twice bool
	lasts bool
	errno syscall.Errno

	asked atomic.Int64
	first atomic.Pointer[backing.Call] // that was refused
}

func (o *outage) before(c backing.Call) error {
	n := int(o.asked.Add(1))
	last := o.n
	if o.twice {
		last++
	}
	if n < o.n || n > last && !o.lasts || o.n == 0 {
		return nil
	}
	o.first.CompareAndSwap(nil, &c)
	return o.errno
}

func (o *outage) String() string {
	when := "at call"
	switch {
	case o.lasts:
		when = "from call"
	case o.twice:
		when = "twice, at call"
	}
	if c := o.first.Load(); c != nil {
		return fmt.Sprintf("%s %s %d, %s", o.errno, when, o.n, c)
	}
	return fmt.Sprintf("%s %s %d", o.errno, when, o.n)
}

// Each plot, with the disk failing at its first call, at its second one, … until it makes no more: once, twice, and from then on.
// The errnos take turns. AIRLOCKFS_FAULTS=all has each at each call, AIRLOCKFS_FAULTS=N has one at each N-th call. What is
// true then: see judge.
func TestI4_ADiskThatFailsAtAnyCallLeavesNothingHalfDone(t *testing.T) {
	for _, sc := range plots {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			without := &outage{}
			before, _, _ := sc.play(t, nil)
			after, st, _ := sc.play(t, without)
			require.Equal(t, fuse.OK, st, "without a fault")
			calls := int(without.asked.Load())
			require.Positive(t, calls)
			for _, o := range outages(calls) {
				found, st, s := sc.play(t, o)
				judge(t, sc, o, before, after, found, st)
				if !t.Failed() {
					sc.goOn(t, s, o, before, after, found)
				}
				if t.Failed() {
					t.Fatalf("%s: %s → %v", sc.name, o, st)
				}
				s.end()
			}
		})
	}
}

// outages are those of a plot that makes so many calls.
func outages(calls int) (all []*outage) {
	which := os.Getenv("AIRLOCKFS_FAULTS")
	step, err := strconv.Atoi(which)
	if err != nil {
		step = 1
	}
	for n := 1; n <= calls; n += step {
		if which != "all" {
			kind := len(all) % 3 // not by n, which may be each third
			all = append(all, &outage{n: n, twice: kind == 0, lasts: kind == 2, errno: faults[n%len(faults)]})
			continue
		}
		for _, errno := range faults {
			all = append(all, &outage{n: n, errno: errno}, &outage{n: n, errno: errno, twice: true}, &outage{n: n, errno: errno, lasts: true})
		}
	}
	return all
}

// play sets a plot up and plays it, with an outage or, if that is nil, not at all. Then everybody's programs end.
func (sc *plot) play(t *testing.T, o *outage) (disk []string, st fuse.Status, s *site) {
	s = newSite(t, Config{KeepReplaced: time.Hour, Abandoned: time.Hour}, sc.rules...)
	require.NoError(t, s.begin())
	s.must(s.we().mkdir("in"), s.we().mkdir("out"))
	if sc.setup != nil {
		sc.setup(s)
	}
	if o == nil {
		s.rest()
		disk = s.disk()
		s.end()
		return disk, fuse.OK, s
	}
	before := o.before
	s.before.Store(&before)
	st = sc.run(s)
	s.before.Store(nil)
	if s.fs == nil {
		require.NoError(t, s.begin(), "%s: it never mounts again", o)
	}
	s.rest()
	disk = s.disk()
	if o.n == 0 {
		s.end()
	}
	return disk, st, s
}

// judge: a call fails with what the disk answered, or nothing failed at all. What everybody sees is all of what was there
// before, or all of what is there after; what is neither is in quarantine, or kept for who comes back for it, and is the
// beginning of something that was written. Nothing is lost.
func judge(t *testing.T, sc *plot, o *outage, before, after, found []string, st fuse.Status) {
	for _, line := range only(before, "replaced ") {
		if slices.Contains(after, line) {
			assert.Contains(t, found, line, "%s: a version that was kept is lost", o)
		}
	}
	if st == fuse.OK {
		assert.Equal(t, kept(after, found), found, "%s: nothing failed", o)
		return
	}
	assert.Contains(t, sc.errnos(o), syscall.Errno(st), "%s", o)
	public := slices.DeleteFunc(only(found, "public "), func(l string) bool { return slices.Contains(sc.parts, l) })
	if !slices.Equal(public, only(after, "public ")) {
		assert.Equal(t, only(before, "public "), public, "%s", o)
	}
	for _, line := range found {
		_, bytes, _ := strings.Cut(line, "=")
		left := strings.HasPrefix(line, "quarantine ") || strings.HasPrefix(line, "parked ") || strings.HasPrefix(line, "abandoned ")
		whole := left && (strings.HasPrefix("whole", bytes) || strings.HasPrefix("oldwhole", bytes))
		assert.True(t, whole || slices.Contains(slices.Concat(before, after, sc.parts), line), "%s: what is %q?", o, line)
	}
	for _, line := range kept(before, found) {
		if slices.Contains(after, line) {
			assert.Contains(t, found, line, "%s: it is lost", o)
		}
	}
}

// errnos are what a program may be told: that of the disk. A descriptor too many is the daemon's, not its caller's; and a
// close tells of an earlier failure, of whatever kind.
func (sc *plot) errnos(o *outage) []syscall.Errno {
	switch o.errno {
	case syscall.EMFILE:
		return []syscall.Errno{syscall.ENFILE}
	}
	return []syscall.Errno{o.errno}
}

// kept is what must be there. A replaced version is kept if the disk lets us; and what comes back late, when there is a
// newer one, may be replaced by it, instead of waiting behind it.
func kept(want, found []string) []string {
	var lines []string
	for _, line := range want {
		replaced := strings.HasPrefix(line, "replaced ")
		if late, held := strings.CutPrefix(line, "held "); held && slices.Contains(found, "replaced "+late) {
			line = "replaced " + late
		}
		if !replaced || slices.Contains(found, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func only(lines []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, prefix) })
}

// goOn: when the disk is well again nothing is left of the outage. The mount serves on, the same succeeds, and a
// restart finds what was there.
func (sc *plot) goOn(t *testing.T, s *site, o *outage, before, after, found []string) {
	assert.Empty(t, s.desk().handles, "%s: descriptors that nobody closed", o)
	assert.Empty(t, s.openFiles(), "%s: files that stay open", o)
	s.must(handOff(s))
	if slices.Equal(found, before) && !slices.Equal(found, after) && sc.again {
		assert.Equal(t, fuse.OK, sc.run(s), "%s: the same again", o)
		s.rest()
		found = s.disk()
		assert.Equal(t, kept(after, found), found, "%s: the same again", o)
	}
	s.rest()
	s.end()
	assert.Empty(t, s.check(), "%s", o)
	assert.Empty(t, s.emptyPlaces(), "%s", o)
	require.NoError(t, s.begin(), "%s: a restart", o)
	s.must(handOff(s))
	s.rest()
	assert.Equal(t, found, s.disk(), "%s: after a restart", o)
}

// handOff is what a mount is for, from one program to another.
func handOff(s *site) fuse.Status {
	if st := s.we().put("out/handed", "over"); st != fuse.OK {
		return st
	}
	return s.we().take("out/handed", "over")
}

// take claims a file, reads it and settles it.
func (p *program) take(path, text string) fuse.Status {
	f, st := p.open(path, 0)
	if st != fuse.OK {
		return st
	}
	got, st := f.read()
	f.close()
	if st != fuse.OK {
		return st
	}
	if got != text {
		return fuse.Status(syscall.EILSEQ)
	}
	return p.unlink(path)
}
