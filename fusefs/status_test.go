package fusefs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// Asking for the status settles what the dead left, and an item that is taken from a descriptor's owner gets a node anew:
// it is in the very answer that settled it.
func TestI7_TheStatusListsWhatItSettles(t *testing.T) {
	for range 20 { // it depended on the order of a map
		s := newSite(t, Config{})
		require.NoError(t, s.begin())
		s.must(s.we().mkdir("in"))
		older(s)
		_, st := s.program("consumer").open("in/f", unix.O_RDONLY)
		s.must(st, s.program("producer").put("in/f", "new"))
		s.program("consumer").process.kill() // its descriptor is still there
		items := s.desk().statusFor(0).(report.Status).Items
		if assert.Len(t, items, 1) {
			assert.Equal(t, []string{"held", "older"}, []string{items[0].State, items[0].Barrier})
		}
		s.end()
	}
}
