package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestReviveALivingProcess(t *testing.T) {
	before, after := newTable(t, Options{}), newTable(t, Options{})
	p := bash(t, `( echo $BASHPID; read _ ); true`)
	written := who(before, p.printed()).Process
	party, ok := after.Revive(written)
	require.True(t, ok)
	assert.Equal(t, written, party.Process)
	assert.Len(t, party.Ancestors, 1)
	assert.Equal(t, party.ID, who(after, written.PID).ID)
}

func TestReviveOnlyThatProcess(t *testing.T) {
	table := newTable(t, Options{})
	is := who(table, shell(t, "read _").pid()).Process
	for name, change := range map[string]func(*protocol.Process){
		"another start": func(p *protocol.Process) { p.Start++ },
		"no start":      func(p *protocol.Process) { p.Start = 0 },
		"another boot":  func(p *protocol.Process) { p.Boot = "00000000" },
		"another host":  func(p *protocol.Process) { p.Host = "00000000" },
		"no pid":        func(p *protocol.Process) { p.PID = 0 },
	} {
		p := is
		change(&p)
		_, ok := table.Revive(p)
		assert.False(t, ok, name)
	}
	is.Host = ""
	_, ok := table.Revive(is)
	assert.True(t, ok, "no host is this host")
}

func TestTheDeadAreNotRevived(t *testing.T) {
	before, after := newTable(t, Options{}), newTable(t, Options{})
	p := shell(t, "read _")
	party := who(before, p.pid())
	p.goOn()
	waitEnded(t, before, party.ID)
	_, ok := after.Revive(party.Process)
	assert.False(t, ok, "a zombie")
	require.NoError(t, waitOnly(p))
	_, ok = after.Revive(party.Process)
	assert.False(t, ok, "reaped")
}
