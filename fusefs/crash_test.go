package fusefs

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/airlockfs/airlockfs/protocol"
)

var update = flag.Bool("update", false, "write the calls in testdata/crash anew")

// scene is one operation of the protocol, and what may be there after a crash at any of its steps.
type scene struct {
	name   string
	rules  []string
	sync   SyncMode
	bounds protocol.Bounds
	empty  bool           // the scene begins before the first mount
	before func(s *stage) // what was there already, and is on the disk
	act    func(s *stage)
}

// play plays a scene and records its act.
func (sc *scene) play(t *testing.T, actors map[string]int) *stage {
	s := newStage(t, actors, sc)
	if sc.empty {
		s.begin()
	}
	s.mount(s.dir, s.trace)
	if sc.before != nil {
		sc.before(s)
	}
	if !sc.empty {
		s.begin()
	}
	sc.act(s)
	r := *s.recording
	s.leave()
	s.recording = &r
	return s
}

// A daemon that is killed before any of the calls of an operation leaves what the next mount brings to the state before
// it, or to the state after it; also if the next mount is killed as well. What the states are, and the calls, is in
// testdata/crash.
func TestCrash(t *testing.T) {
	actors := startActors(t, "producer", "consumer", "heir", "operator")
	for _, sc := range allScenes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			allowed := readScript(t, sc.name)
			draft := len(allowed.live) == 0
			seen := script{live: allowed.live, boot: allowed.boot, cut: allowed.cut}
			s := sc.play(t, actors)
			for n := 0; n <= len(s.steps); n += everyStep {
				t.Run(fmt.Sprintf("step=%d", n), func(t *testing.T) {
					s.t = t
					live, boot := s.outcome(n, false), s.outcome(n, true)
					if draft {
						seen.live, seen.boot = noted(seen.live, live), noted(seen.boot, boot)
					}
					assert.Contains(t, seen.live, live, liveTitle)
					assert.Contains(t, seen.boot, boot, bootTitle)
					seen.call(live, boot, s.lineOf(n))
				})
			}
			if *update {
				seen.write(t, sc.name)
			}
			assert.False(t, draft, "%s is a draft: judge the outcomes in it", scriptPath(sc.name))
			if len(seen.calls) == len(s.steps)+1 { // not one step alone
				assert.Equal(t, seen.String(), allowed.String(), "the calls are others, or lead elsewhere")
			}
		})
	}
}

func allScenes() []*scene {
	return slices.Concat(scenes, scenesOfNames, scenesOfStates, scenesOfMarks, scenesSynced)
}

// lineOf is the call that a crash comes before.
func (s *stage) lineOf(step int) string {
	if step == len(s.steps) {
		return "end"
	}
	return s.masked(s.steps[step].line)
}

func noted(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// outcome is what recovery makes of a crash before a step. A crash of the recovery changes nothing about it.
func (s *stage) outcome(step int, reboot bool) string {
	view, images := s.recovered(s.image(step), reboot)
	for n, m := range images {
		again, _ := s.recovered(m, false)
		assert.Equal(s.t, view, again, "the recovery crashed before its step %d", n)
	}
	return view
}
