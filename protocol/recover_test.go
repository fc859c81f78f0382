package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecover is what a restart makes of what it finds, one place after the other (section 10). Owner a lives, 0 is a
// process that has ended.
func TestRecover(t *testing.T) {
	const a = PartyID(1)
	for _, c := range []struct {
		name   string
		found  Item
		closed bool
		public bool // something public stands under the name
		want   string
	}{
		{"temp file, closed, owner lives", Item{State: Staged, Owner: a, Barrier: BarrierTemp, Match: temp}, true, false, "staged temp by a"},
		{"temp file, closed", Item{State: Staged, Barrier: BarrierTemp, Match: temp}, true, false, "parked"},
		{"temp file, open, owner lives", Item{State: Staged, Owner: a, Match: temp}, false, false, "abandoned, killed"},
		{"temp file, open", Item{State: Staged, Match: temp}, false, false, "abandoned, killed"},
		{"temp file, open, a write had failed", Item{State: Staged, Match: temp, Taint: Taint{Kind: TaintWrite}}, false, false, "abandoned, write error"},
		{"final name, open, owner lives", Item{State: Staged, Owner: a}, false, false, "quarantined, killed"},
		{"final name, open", Item{State: Staged}, false, false, "quarantined, killed"},
		{"parked", Item{State: Parked, Match: temp}, false, false, "parked"},
		{"abandoned", Item{State: Abandoned, Match: temp}, false, false, "abandoned"},
		{"quarantined", Item{State: Quarantined}, false, false, "quarantined"},
		{"claim, owner lives", Item{State: Claimed, Owner: a, Attempts: 2}, false, false, "claimed by a, attempts 2"},
		{"claim", Item{State: Claimed, Attempts: 2}, false, false, "published, attempts 2"},
		{"claim, behind a newer item", Item{State: Claimed}, false, true, "held older"},
		{"waiting for exit, owner lives", Item{State: Held, Barrier: BarrierExit, Owner: a}, false, false, "held exit by a"},
		{"waiting for exit", Item{State: Held, Barrier: BarrierExit}, false, false, "published"},
		{"waiting for exit, its writer had failed", Item{State: Held, Barrier: BarrierExit, Taint: Taint{Kind: TaintExit}}, false, false, "quarantined, failed"},
		{"waiting for quiet", Item{State: Held, Barrier: BarrierQuiet, Until: simStart}, false, false, "held quiet"},
		{"waiting for rename", Item{State: Held, Barrier: BarrierRename}, false, false, "held rename"},
		{"waiting for a newer item that is there", Item{State: Held, Barrier: BarrierOlder}, false, true, "held older"},
		{"waiting for a newer item that is gone", Item{State: Held, Barrier: BarrierOlder}, false, false, "published"},
		{"waiting for a writer outside", Item{State: Held, Barrier: BarrierForeign}, false, false, "published"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t)
			s.add("a", nil)
			assert.Equal(t, c.want, recovered(s, c.found, c.closed, c.public))
		})
	}
}

var temp = Match{Temp: TempByName}

// recovered is the state of an item after a restart has found it.
func recovered(s *sim, found Item, closed, public bool) string {
	found.ID, found.Name, found.Links = 1, s.key("in/x"), 1
	found.Home = found.Name
	s.items[1], s.disk.private[1] = &found, found
	f := s.File(found.Name)
	f.Private = append(f.Private, &found)
	if public {
		s.items[2] = &Item{ID: 2, Name: found.Name, State: Public, Links: 1}
		s.disk.public[found.Name] = 2
	}
	e := s.event(OpEnded, nil)
	s.perform(Recover(s.aboutItem(&found), &found, closed, e).Effects, true)
	return s.state(&found)
}

// Of a writer that ended while nothing was mounted nobody knows how it did.
func TestRecoverAWriterWhoseEndNobodySaw(t *testing.T) {
	s := newSim(t)
	i := &Item{ID: 1, State: Held, Barrier: BarrierExit, Name: s.key("in/x"), Links: 1}
	f := s.File(i.Name)
	f.Private = append(f.Private, i)
	e := &Event{Op: OpEnded, Verdict: Verdict{Kind: Unknown}, NotClean: true}
	d := Recover(s.aboutItem(i), i, true, e)
	require.Len(t, d.Effects, 1)
	assert.Equal(t, Quarantined, d.Effects[0].Next.State)
	assert.Equal(t, "its writer ended, nobody knows how: nothing was mounted then", d.Effects[0].Next.Taint.Detail)
}

// TestRecoverIsDoneOnce: what a restart has settled, the next one leaves alone.
func TestRecoverIsDoneOnce(t *testing.T) {
	s := newSim(t, "both/**=queue,on-collision=keep-both", "quiet/**=queue,publish=quiet=5s")
	a, c := s.add("a", nil), s.add("c", nil)
	for _, p := range []string{"in/x", "in/x.tmp", "both/x", "quiet/x"} {
		delivers(s, a, s.key(p))
	}
	h, _ := s.open(a, s.key("both/x"), OpenMode{Write: true, Truncate: true}, false)
	s.close(h, Verdict{})
	s.open(c, s.key("in/x"), OpenMode{Read: true}, false)
	s.open(a, s.key("in/y"), OpenMode{Write: true}, true)
	s.dead[c.ID] = true
	s.now = s.now.Add(time.Minute)
	once := s.restarted()
	assert.NotEqual(t, s.list(), once.list())
	assert.Equal(t, once.list(), once.restarted().list())
}
