package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A job works as long as one of its processes does, seen or not; a zombie does not.
func TestAJobOfZombiesDoesNotWork(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `exec 3<&0; echo ready; read _; { echo $BASHPID; read _ <&3; } & exit 0`)
	require.Equal(t, "ready", p.line())
	leader := who(table, p.pid())
	job := table.Job(leader.ID)
	assert.True(t, table.Works(job))
	p.goOn()
	rest := p.printed()
	waitEnded(t, table, leader.ID)
	assert.True(t, table.Works(job), "a process that was never seen goes on, and the leader is a zombie")
	require.NoError(t, unix.Kill(rest, unix.SIGKILL))
	require.Eventually(t, func() bool { return !table.Works(job) }, patience, tick)
	assert.True(t, table.Alive(job), "nobody has waited for the leader")
	require.NoError(t, p.Wait())
	assert.False(t, table.Works(job))
	assert.False(t, table.Works(Job{}))
}
