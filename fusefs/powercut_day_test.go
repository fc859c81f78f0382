package fusefs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// day is many operations in a row: a disk may have any of them without the others. There are too many outcomes to write
// down, so each file is accounted for instead.
var day = &scene{rules: []string{"done/**=archive", "work/**=work"},
	before: func(s *stage) {
		for _, folder := range []string{"in", "in/eu", "done", "work"} {
			s.mkdir("producer", folder)
		}
		for _, path := range dayPaths {
			s.put("producer", path, "text of "+path)
		}
	},
	act: func(s *stage) {
		s.claim("consumer", "in/a")
		s.rename("heir", "in/b", "work/b", 0)
		s.replace("producer", "in/c", "newer than in/c")
		s.unlink("consumer", "in/a")
		s.claim("consumer", "in/d")
		s.put("producer", "in/d", "newer than in/d")
		s.rename("heir", "in/eu/f", "f.tmp", 0)
		s.end("consumer", killed, "")
		s.rename("heir", "f.tmp", "done/f", 0)
		s.rename("producer", "in/eu", "us", 0)
		s.claim("consumer", "us/g")
		s.replace("consumer", "us/g", "newer than us/g")
		s.rename("heir", "work/b", "done/b", 0)
	}}

var dayPaths = []string{"in/a", "in/b", "in/c", "in/d", "in/e", "in/eu/f", "in/eu/g"}

// dayTexts are the complete files of the day.
var dayTexts = map[string]bool{"newer than in/c": true, "newer than in/d": true, "newer than us/g": true}

func init() {
	for _, path := range dayPaths {
		dayTexts["text of "+path] = true
	}
}

// settled are the files of the day that may be gone: somebody was done with them, or replaced them within his claim.
var settled = map[string]bool{"in/a": true, "in/eu/g": true}

func TestPowerCutsOfADay(t *testing.T) {
	s := day.play(t, startActors(t, "producer", "consumer", "heir", "operator"))
	seed := surroundings.Number(t, "AIRLOCKFS_SEED", rand.Uint64())
	c := newCutter(s, script{}, seed)
	c.most = surroundings.Number(t, "AIRLOCKFS_CUTS", 12)
	for steps := 0; steps <= len(s.steps); steps++ {
		c.cut(steps)
	}
	t.Logf("%d different disks after a power cut", len(c.known))
	for view := range c.ok {
		assert.Empty(t, unaccounted(view), "seed %d: %s", seed, view)
	}
}

// unaccounted tells what is wrong with a view of the day.
func unaccounted(view string) (wrong []string) {
	found := map[string]int{}
	for _, part := range strings.Split(view, "; ") {
		where, text, isFile := strings.Cut(part, "=")
		switch {
		case strings.HasPrefix(part, "PROBLEM"):
			wrong = append(wrong, part)
		case !isFile, strings.HasPrefix(where, "quarantined "), strings.HasPrefix(where, "abandoned "):
		default:
			text, _, _ = strings.Cut(text, " attempts")
			text, _, _ = strings.Cut(text, " (")
			found[text]++
		}
	}
	for text, times := range found {
		if !dayTexts[text] || times > 1 {
			wrong = append(wrong, text)
		}
	}
	for _, path := range dayPaths {
		if found["text of "+path] == 0 && !settled[path] {
			wrong = append(wrong, path+" is lost")
		}
	}
	return wrong
}
