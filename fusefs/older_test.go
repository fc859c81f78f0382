package fusefs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// What was published by renaming a closed temp file waits for the newer version, and for nothing else, when its claim has
// come back: also for a mount that reads what was noted of it.
func TestI4_AnOlderVersionHasItsTurnAfterARestart(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.begin())
	s.must(s.we().mkdir("in"))
	producer, consumer := s.program("producer"), s.program("consumer")
	s.must(producer.put("in/f.tmp", "old"), producer.rename("in/f.tmp", "in/f", 0))
	f, st := consumer.open("in/f", unix.O_RDONLY)
	s.must(st, f.close(), producer.put("in/f", "new"))
	s.crash()
	consumer.process.kill() // nobody saw how, so no attempt is noted in place of what was
	require.NoError(t, s.begin())
	require.Equal(t, []string{"held in/f=old", "public in/", "public in/f=new"}, s.disk())
	s.end()
	require.NoError(t, s.begin())
	items := s.desk().statusFor(0).(report.Status).Items
	require.Len(t, items, 1)
	assert.Equal(t, "older", items[0].Barrier)
	s.must(s.program("another").take("in/f", "new"), s.program("another").take("in/f", "old"))
	s.end()
}

// A claimant may end while a mount takes over what the last one left: it lived when its claim was found, and does not when
// that is decided about.
func TestI4_AClaimantEndsDuringARestart(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.begin())
	s.must(s.we().mkdir("in"))
	consumer := s.program("consumer")
	for _, name := range []string{"in/f", "in/g"} {
		s.put(name, "old")
		f, st := consumer.open(name, unix.O_RDONLY)
		s.must(st, f.close(), s.program("producer").put(name, "new"))
	}
	s.crash()
	claims := 0
	before := func(c backing.Call) error {
		if c.Name == "stat" && strings.Contains(c.Object.Folder, "/claimed/") {
			if claims++; claims == 2 {
				consumer.process.kill()
			}
		}
		return nil
	}
	s.before.Store(&before)
	require.NoError(t, s.begin())
	require.GreaterOrEqual(t, claims, 2)
	s.rest()
	require.Equal(t, []string{"held in/f=old", "held in/g=old", "public in/", "public in/f=new", "public in/g=new"}, s.disk())
	s.end()
}
