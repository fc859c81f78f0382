package fusefs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Of several changes by which a claimant's end is settled the disk may refuse a later one. The decision is made again, when
// the item may be the next one's: what is left of it ends nobody else's claim.
func TestI3_APostponedEndEndsNobodyElsesClaim(t *testing.T) {
	for name, mine := range map[string]bool{"its own": true, "another's": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, Config{})
			require.NoError(t, s.begin())
			s.must(s.we().mkdir("in"))
			claimed(s)
			d := s.desk()
			d.mu.Lock()
			for _, n := range d.table.byID {
				if n.kind == itemNode && n.bytes.item.State == protocol.Claimed {
					left := postponed{*d.call(protocol.OpEnded, nil), n.bytes.item.Owner}
					left.Verdict.Kind = protocol.Clean
					n.bytes.unsettled = &unsettled{calls: []postponed{left}, wait: longestRetry}
					if !mine {
						n.bytes.unsettled.calls[0].owner-- // had it before
					}
				}
			}
			d.mu.Unlock()
			s.lookAtAll()
			require.Equal(t, mine, len(only(s.disk(), "claimed ")) == 0)
			_, st := s.program("another").open("in/f", unix.O_RDONLY)
			require.Equal(t, mine, st.Ok())
			s.end()
		})
	}
}
