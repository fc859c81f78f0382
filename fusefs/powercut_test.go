package fusefs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// What the disk has when the power fails in the middle of an operation is brought to one of the outcomes in
// testdata/crash, too. AIRLOCKFS_SEED=N draws what is drawn as the run did that named it.
func TestPowerCut(t *testing.T) {
	actors := startActors(t, "producer", "consumer", "heir", "operator")
	seed := surroundings.Number(t, "AIRLOCKFS_SEED", rand.Uint64())
	var images atomic.Int64
	t.Cleanup(func() { t.Logf("%d different disks after a power cut", images.Load()) })
	for _, sc := range allScenes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := sc.play(t, actors)
			c := newCutter(s, readScript(t, sc.name), seed)
			for steps := 0; steps <= len(s.steps); steps += everyStep {
				c.cut(steps)
			}
			if sc.sync == SyncFull {
				c.ok = map[string]bool{unjudged(s.outcome(len(s.steps), true)): true}
				clear(c.known)
				c.cut(len(s.steps))
			}
			for _, bad := range c.bad {
				t.Errorf("seed %d: %s", seed, bad)
			}
			images.Add(int64(len(c.known)))
		})
	}
}

// What the mount syncs is needed: as soon as one sync is left out, some power cut comes to what is not allowed.
func TestPowerCutsMissEachSync(t *testing.T) {
	actors := startActors(t, "producer", "consumer", "heir", "operator")
	for _, x := range []struct{ scene, line string }{
		{"publish", "fdatasync"}, {"publish by rename", "fdatasync"}, {"append", "fdatasync"}, {"write in a claim", "fdatasync"},
		{"write in place and hand over", "fdatasync"}, {"publish synced", "fsync ."}, {"claim by rename to work", "fsync @folders"},
		{"folder renamed", "fsync @folders"}, {"folder renamed", "fsync ."}, {"folders exchanged", "fsync ."},
		{"write a temp file again", "fsync @staging"}, {"adopt and write", "fsync @staging/0~0~consumer (folder)"},
		{"locked and then written", "fsync ."}, {"settle by unlink synced", "fsync @claimed"}, {"settle to archive synced", "fsync done"},
	} {
		t.Run(x.scene+" without "+x.line, func(t *testing.T) {
			t.Parallel()
			sc := allScenes()[slices.IndexFunc(allScenes(), func(sc *scene) bool { return sc.name == x.scene })]
			s := sc.play(t, actors)
			left := 0
			for n := range s.steps {
				if strings.HasPrefix(s.masked(s.steps[n].line), x.line) {
					s.steps[n].synced = inodeID{}
					left++
				}
			}
			require.NotZero(t, left, "nothing is synced so")
			c := newCutter(s, readScript(t, sc.name), 1)
			if sc.sync == SyncFull {
				c.ok = map[string]bool{unjudged(s.outcome(len(s.steps), true)): true}
				c.cut(len(s.steps))
			}
			for steps := 0; steps <= len(s.steps) && sc.sync != SyncFull; steps++ {
				c.cut(steps)
			}
			assert.NotEmpty(t, c.bad)
		})
	}
}

// cutter cuts the power in all ways, or in as many as are drawn, and tells what comes of it beyond what is allowed.
type cutter struct {
	*stage
	medium *medium
	rnd    *rand.Rand
	most   int
	ok     map[string]bool // outcomes that are allowed, or were told
	known  map[string]bool // images
	bad    []string
}

func newCutter(s *stage, allowed script, seed uint64) *cutter {
	c := &cutter{stage: s, medium: s.medium(), rnd: rand.New(rand.NewPCG(seed, 0)), ok: map[string]bool{}, known: map[string]bool{},
		most: surroundings.Number(s.t, "AIRLOCKFS_CUTS", mostCuts)}
	for _, view := range slices.Concat(allowed.boot, allowed.cut) {
		c.ok[unjudged(view)] = true
	}
	return c
}

// cut cuts the power after so many steps.
func (c *cutter) cut(steps int) {
	for _, has := range c.medium.cuts(steps, c.most, c.rnd) {
		for way := range bytesWays {
			m := c.medium.image(has, steps, way)
			key := m.key()
			if c.known[key] {
				continue
			}
			c.known[key] = true
			view, _ := c.recovered(m, true)
			if view = unjudged(view); !c.ok[view] {
				c.ok[view] = true // said once
				c.bad = append(c.bad, fmt.Sprintf("%q after step %d, bytes %d\n%s", view, steps, way, c.told(has, steps)))
			}
		}
	}
}

// told lists the steps, and which of them the disk has.
func (c *cutter) told(has []bool, steps int) string {
	var b strings.Builder
	for n := range steps {
		mark := " "
		for k, o := range c.medium.ops {
			if o.step == n && !o.barrier() {
				mark = map[bool]string{true: "+", false: "-"}[has[k]]
			}
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, c.masked(c.steps[n].line))
	}
	return b.String()
}

// unjudged leaves out the bytes of what is kept because it failed: nobody takes them for complete.
func unjudged(view string) string {
	parts := strings.Split(view, "; ")
	for n, part := range parts {
		if strings.HasPrefix(part, "quarantined ") || strings.HasPrefix(part, "abandoned ") {
			name, rest, _ := strings.Cut(part, "=")
			_, why, _ := strings.Cut(rest, " [")
			parts[n] = name + "=… [" + why
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
