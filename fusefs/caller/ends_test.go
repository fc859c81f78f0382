package caller

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

var endings = []struct {
	script string
	want   protocol.Verdict
}{
	{"read _; exit 0", protocol.Verdict{Kind: protocol.Clean}},
	{"read _; exit 3", protocol.Verdict{Kind: protocol.Failed, Status: 3}},
	{"read _; kill -KILL $$", protocol.Verdict{Kind: protocol.Killed, Status: 9}},
	{"read _; kill -SEGV $$", protocol.Verdict{Kind: protocol.Killed, Status: 11}},
}

func TestEndOfAZombieThatNobodyWaitsFor(t *testing.T) {
	for _, c := range endings {
		t.Run(c.script, func(t *testing.T) {
			table := newTable(t, Options{})
			p := shell(t, c.script)
			party := who(table, p.pid())
			assert.False(t, table.Ended(party.ID))
			assert.Equal(t, protocol.End{Party: party.ID}, table.End(party.ID), "before the end")
			p.goOn()
			waitEnded(t, table, party.ID)
			assert.Equal(t, c.want, table.End(party.ID).Verdict)
			assert.Equal(t, table.End(party.ID), table.End(party.ID))
		})
	}
}

func TestEndAfterTheParentHasWaited(t *testing.T) {
	for _, c := range endings {
		t.Run(c.script, func(t *testing.T) {
			table := newTable(t, Options{})
			p := shell(t, c.script)
			party := who(table, p.pid())
			table.Watch(party.ID)
			p.goOn()
			_ = p.Wait() // the program's failure is the point
			assert.True(t, table.Ended(party.ID))
			assert.Equal(t, c.want, table.End(party.ID).Verdict)
			assert.Equal(t, c.want, (<-table.Ends()).Verdict)
		})
	}
}

// The table's goroutine mostly sees the zombie; here nobody looks before it is reaped.
func TestVerdictOfAReapedProcess(t *testing.T) {
	for _, c := range endings {
		t.Run(c.script, func(t *testing.T) {
			table := newTable(t, Options{})
			p := shell(t, c.script)
			e, _, err := table.openProcess(p.pid())
			require.NoError(t, err)
			defer e.discard()
			e.party = &protocol.Party{}
			p.goOn()
			_ = p.Wait()
			assert.False(t, e.living())
			assert.Equal(t, c.want, table.verdictOf(e))
		})
	}
}

func TestExitingCloseStandsInForALostVerdict(t *testing.T) {
	table := newTable(t, Options{})
	gone := newDescriptor(-1) // neither a zombie nor exit information: an older kernel, after wait
	e := &entry{pid: 1, proc: gone, dir: gone, party: &protocol.Party{}}
	assert.Equal(t, protocol.Verdict{Kind: protocol.Unknown}, table.verdictOf(e))
	e.exit = protocol.Verdict{Kind: protocol.Killed, Status: 9}
	assert.Equal(t, e.exit, table.verdictOf(e))
}

// An ending process is told from a living one, and from one of which nothing is known.
func TestEndingIsLivingUntilTheMemoryIsGone(t *testing.T) {
	for _, c := range endings {
		table := newTable(t, Options{})
		p := shell(t, c.script)
		party := who(table, p.pid())
		assert.Equal(t, protocol.Living, table.Ending(party.ID).Kind, c.script)
		p.goOn()
		require.Eventually(t, func() bool { return table.Ending(party.ID).Kind != protocol.Living }, patience, tick)
		assert.Equal(t, c.want, table.Ending(party.ID), c.script)
	}
	assert.Equal(t, protocol.Unknown, newTable(t, Options{}).Ending(4711).Kind)
}

func TestEndsAreDeliveredOnce(t *testing.T) {
	const n = 40
	table, err := New(Options{})
	require.NoError(t, err)
	var progs []*prog
	want := map[protocol.PartyID]bool{}
	for range n {
		p := shell(t, "read _")
		party := who(table, p.pid())
		table.Watch(party.ID)
		table.Watch(party.ID)
		want[party.ID] = true
		progs = append(progs, p)
	}
	askWhileEnding(table, progs, want)
	got := map[protocol.PartyID]int{}
	for range n {
		end := <-table.Ends()
		got[end.Party]++
		assert.Equal(t, table.End(end.Party), end)
		table.Watch(end.Party) // too late to be told again
	}
	table.Close()
	for end := range table.Ends() {
		got[end.Party]++
	}
	require.Len(t, got, n)
	for id, times := range got {
		assert.True(t, want[id])
		assert.Equal(t, 1, times, "party %d", id)
	}
}

// askWhileEnding lets all programs end while others ask for their ends.
func askWhileEnding(table *Table, progs []*prog, ids map[protocol.PartyID]bool) {
	var wg sync.WaitGroup
	for id := range ids {
		wg.Go(func() {
			for !table.Ended(id) {
				table.End(id)
			}
			table.End(id)
		})
	}
	for _, p := range progs {
		p.goOn()
	}
	wg.Wait()
}

func TestWatchAfterTheEnd(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _; exit 7")
	party := who(table, p.pid())
	p.goOn()
	waitEnded(t, table, party.ID)
	table.End(party.ID)
	table.Watch(party.ID)
	want := protocol.End{Party: party.ID, Verdict: protocol.Verdict{Kind: protocol.Failed, Status: 7}}
	assert.Equal(t, want, <-table.Ends())
}

func TestForgottenPartyHasEnded(t *testing.T) {
	table := newTable(t, Options{})
	assert.True(t, table.Ended(99))
	assert.Equal(t, protocol.Unknown, table.End(99).Verdict.Kind)
	assert.Nil(t, table.Party(99))
	assert.Zero(t, table.Job(99))
}

func TestCloseDoesNotWaitForAReader(t *testing.T) {
	table, err := New(Options{})
	require.NoError(t, err)
	p := shell(t, "read _")
	table.Watch(who(table, p.pid()).ID)
	require.NoError(t, p.Process.Signal(unix.SIGKILL))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		table.Close()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		require.Fail(t, "Close hangs")
	}
}
