package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKin(t *testing.T) {
	of := func(change func(*Party)) *Party {
		p := &Party{ID: 1, Process: Process{PID: 10, UID: 1000, Session: 5}}
		change(p)
		return p
	}
	who := func(change func(*Party)) *Party {
		p := &Party{ID: 2, Process: Process{PID: 20, UID: 1000, Session: 5}, Ancestors: []PartyID{9, 1, 7}}
		change(p)
		return p
	}
	same := func(*Party) {}
	for _, c := range []struct {
		name    string
		of, who *Party
		kin     bool
	}{
		{"itself", of(same), of(same), true},
		{"itself, after setuid", of(same), of(func(p *Party) { p.Process.UID = 0 }), true},
		{"a descendant", of(same), who(same), true},
		{"an ancestor", who(same), of(same), false},
		{"a sibling", of(same), who(func(p *Party) { p.Ancestors = []PartyID{9} }), false},
		{"a descendant in another group", of(same), who(func(p *Party) { p.Group = 99 }), true},
		{"a descendant in another session", of(same), who(func(p *Party) { p.Process.Session = 6 }), false},
		{"a descendant of another user", of(same), who(func(p *Party) { p.Process.UID = 1001 }), false},
		{"a descendant that is root", of(same), who(func(p *Party) { p.Process.UID = 0 }), true},
		{"root's descendant of another user", of(func(p *Party) { p.Process.UID = 0 }), who(same), false},
		{"the same worker", of(func(p *Party) { p.Worker = "w" }), who(func(p *Party) { p.Worker, p.Ancestors, p.Process.Session = "w", nil, 8 }), true},
		{"another worker", of(func(p *Party) { p.Worker = "w" }), who(func(p *Party) { p.Worker, p.Ancestors = "v", nil }), false},
		{"the same worker of another user", of(func(p *Party) { p.Worker = "w" }),
			who(func(p *Party) { p.Worker, p.Ancestors, p.Process.UID = "w", nil, 0 }), false},
		{"no worker at all", of(same), who(func(p *Party) { p.Ancestors = nil }), false},
		{"unseen, of one user", of(func(p *Party) { p.Unseen = true }), who(func(p *Party) { p.Unseen, p.Ancestors = true, nil }), true},
		{"unseen, of two users", of(func(p *Party) { p.Unseen = true }), who(func(p *Party) { p.Unseen, p.Process.UID = true, 1 }), false},
		{"unseen and seen", of(func(p *Party) { p.Unseen = true }), who(same), false},
		{"nobody", nil, who(same), false},
		{"by nobody", of(same), nil, false},
	} {
		assert.Equal(t, c.kin, Kin(c.of, c.who), c.name)
	}
}

func TestVerdictOf(t *testing.T) {
	for status, want := range map[uint32]Verdict{
		0x0000: {Kind: Clean},
		0x0100: {Kind: Failed, Status: 1},
		0xff00: {Kind: Failed, Status: 255},
		0x0009: {Kind: Killed, Status: 9},
		0x008b: {Kind: Killed, Status: 11}, // with a core dump
		0x000f: {Kind: Killed, Status: 15},
	} {
		assert.Equal(t, want, VerdictOf(status), "%#x", status)
	}
	assert.Equal(t, "still running", Verdict{}.String())
	assert.Equal(t, "ended with 3", Verdict{Kind: Failed, Status: 3}.String())
	assert.Equal(t, "killed by signal 9", Verdict{Kind: Killed, Status: 9}.String())
	assert.Equal(t, "ended, nobody knows how", Verdict{Kind: Unknown}.String())
}

// TestEndsOfHolds is the table of section 3, by hold: what becomes of it at the end of b after clean, failed(n), killed
// and unknown, alone and with its parent a as heir.
func TestEndsOfHolds(t *testing.T) {
	verdicts := []Verdict{{Kind: Clean}, {Kind: Failed, Status: 1}, {Kind: Killed, Status: 9}, {Kind: Unknown}}
	for _, row := range []struct {
		hold        string
		name        string
		prepare     func(s *sim, b *Party, n NameKey)
		alone, heir [4]string
	}{
		{"writer, final name, closed by this exit", "in/x", writes,
			[4]string{"published", "quarantined, failed", "quarantined, killed", "published"},
			[4]string{"published", "quarantined, failed", "quarantined, killed", "published"}},
		{"writer, waiting for quiet", "quiet/x", delivers,
			[4]string{"held quiet", "held quiet", "held quiet", "held quiet"},
			[4]string{"held quiet by a", "held quiet by a", "held quiet by a", "held quiet by a"}},
		{"writer, waiting for rename", "byname/x", delivers,
			[4]string{"held rename", "held rename", "held rename", "held rename"},
			[4]string{"held rename by a", "held rename by a", "held rename by a", "held rename by a"}},
		{"writer, waiting for exit", "exit/x", delivers,
			[4]string{"published", "quarantined, failed", "quarantined, killed", "published"},
			[4]string{"published", "quarantined, failed", "quarantined, killed", "published"}},
		{"writer, temp name", "in/x.tmp", writes,
			[4]string{"parked", "parked, failed", "abandoned, killed", "parked"},
			[4]string{"staged temp by a", "staged temp by a, failed", "abandoned, killed", "staged temp by a"}},
		{"writer, temp name, closed", "in/x.tmp", delivers,
			[4]string{"parked", "parked", "abandoned, killed", "parked"},
			[4]string{"staged temp by a", "staged temp by a", "abandoned, killed", "staged temp by a"}},
		{"claim", "in/x", reads,
			[4]string{"published", "published, attempts 1", "published, attempts 1", "published"},
			[4]string{"claimed by a", "claimed by a", "published, attempts 1", "claimed by a"}},
	} {
		for n, v := range verdicts {
			assert.Equal(t, row.alone[n], endOf(t, row.name, row.prepare, v, false), "%s: %s", row.hold, v)
			assert.Equal(t, row.heir[n], endOf(t, row.name, row.prepare, v, true), "%s: %s, with an heir", row.hold, v)
		}
	}
}

func writes(s *sim, b *Party, n NameKey) {
	h, _ := s.open(b, n, OpenMode{Write: true}, true)
	s.write(h)
}

func delivers(s *sim, b *Party, n NameKey) {
	writes(s, b, n)
	s.close(s.handles[0], Verdict{})
}

func reads(s *sim, b *Party, n NameKey) {
	delivers(s, s.add("c", nil), n)
	s.open(b, n, OpenMode{Read: true}, false)
}

// endOf is the state of what b held under the name, after its end.
func endOf(t *testing.T, name string, prepare func(*sim, *Party, NameKey), v Verdict, withHeir bool) string {
	s := newSim(t, "quiet/**=queue,publish=quiet=5s", "byname/**=queue,publish=rename", "exit/**=queue,publish=exit")
	a := s.add("a", nil)
	b := s.add("b", a)
	prepare(s, b, s.key(name))
	var heir *Party
	if withHeir {
		heir = a
	}
	s.end(b, v, heir)
	return s.state(s.items[1])
}

// TestSignalsThatEndAClaim: these a reader may be sent in the ordinary course of things.
func TestSignalsThatEndAClaim(t *testing.T) {
	ordinary := map[int]bool{1: true, 2: true, 3: true, 13: true, 15: true} // HUP INT QUIT PIPE TERM
	for signal := 1; signal < 65; signal++ {
		want := "published, attempts 1"
		if ordinary[signal] {
			want = "published"
		}
		assert.Equal(t, want, endOf(t, "in/x", reads, Verdict{Kind: Killed, Status: signal}, false), fmt.Sprint(signal))
	}
}

// TestAttemptsOfSessionsDoNotCount: callers under job control, and sessions.
func TestAttemptsOfSessionsDoNotCount(t *testing.T) {
	s := newSim(t)
	a := s.add("a", nil)
	n := s.key("in/x")
	delivers(s, a, n)
	e := s.event(OpOpen, s.add("c", nil))
	e.Item, e.Open, e.Uncounted = 1, OpenMode{Read: true}, true
	s.decide(s.world(n, nil), e)
	s.end(e.By, Verdict{Kind: Killed, Status: 9}, nil)
	assert.Equal(t, "published", s.state(s.items[1]))
}
