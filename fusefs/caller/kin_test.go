package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestKin(t *testing.T) {
	const wait = `sh -c 'echo $$; read _'`
	cases := []struct {
		name, script string
		want         bool
	}{
		{"child", wait + "; true", true},
		{"grandchild", `sh -c "` + `sh -c 'echo \$\$; read _'; true` + `"; true`, true},
		{"in a group of its own", "set -m; " + wait + "; true", true},
		{"through timeout", "timeout 60 " + wait + "; true", true},
		{"in a session of its own", "setsid -w " + wait + "; true", false},
		{"another user", "setpriv --reuid=65534 --clear-groups " + wait + "; true", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t, Options{})
			p := bash(t, c.script)
			pid := p.printed()
			st, err := readStatus(unix.AT_FDCWD, procPath(pid, "status"))
			require.NoError(t, err)
			top, member := who(table, p.pid()), table.Who(uint32(pid), st.uid, st.gid)
			require.NotEqual(t, top.ID, member.ID)
			assert.Equal(t, c.want, protocol.Kin(top, member))
			assert.False(t, protocol.Kin(member, top), "the way up is closed")
		})
	}
}

func TestRootIsKinOfTheUserItDescendsFrom(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `sh -c 'echo $$; read _'; true`)
	pid := p.printed()
	user, root := table.Who(uint32(p.pid()), 65534, 65534), table.Who(uint32(pid), 0, 0)
	assert.True(t, protocol.Kin(user, root))
}

func TestSiblingsAreNotKin(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `exec 3<&0; ( echo $BASHPID; read _ <&3 ) & ( echo $BASHPID; read _ <&3 ) & wait`)
	a, b := who(table, p.printed()), who(table, p.printed())
	assert.Equal(t, a.Ancestors, b.Ancestors)
	assert.Len(t, a.Ancestors, 1)
	assert.False(t, protocol.Kin(a, b))
}

func TestWorker(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `echo ready; read _; setsid -w sh -c 'echo $$; read _; read _'`)
	require.Equal(t, "ready", p.line())
	_, err := table.Register(uint32(p.pid()), 0, 0, "")
	require.Error(t, err)
	root, err := table.Register(uint32(p.pid()), 0, 0, "night")
	require.NoError(t, err)
	assert.Equal(t, "night", root.Worker)
	p.goOn()
	pid := p.printed()
	member := who(table, pid)
	assert.Equal(t, "night", member.Worker, "in another session, but a descendant")
	assert.True(t, protocol.Kin(root, member))
	assert.Equal(t, Job{Worker: "night"}, table.Job(member.ID))
	assert.Equal(t, "", who(table, shell(t, "read _").pid()).Worker)
	heir := table.Heir(opener(table, pid).ID)
	require.NotNil(t, heir, "what it holds is the worker's")
	assert.Equal(t, root.ID, heir.ID)
	assert.Nil(t, table.Heir(root.ID))

	p.goOn()
	require.NoError(t, p.Process.Kill())
	waitEnded(t, table, root.ID)
	assert.True(t, table.JobAlive(root.ID), "one member goes on")
}

func TestWorkerOfAnotherUserIsNone(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `echo ready; read _; setpriv --reuid=65534 --clear-groups sh -c 'echo $$; read _'; true`)
	require.Equal(t, "ready", p.line())
	_, err := table.Register(uint32(p.pid()), 0, 0, "night")
	require.NoError(t, err)
	p.goOn()
	assert.Equal(t, "", table.Who(uint32(p.printed()), 65534, 65534).Worker)
}

func TestJob(t *testing.T) {
	const inner = `echo $$; read _`
	table := newTable(t, Options{})
	direct := bash(t, `sh -c '`+inner+`'; true`)
	limited := bash(t, `timeout 60 sh -c '`+inner+`'; true`)
	pipeline := bash(t, `set -m; sh -c '`+inner+`' | cat; true`)
	for _, p := range []*prog{direct, limited, pipeline} {
		top, member := who(table, p.pid()), who(table, p.printed())
		want := Job{Group: p.pid(), Leader: top.Process.Start}
		assert.Equal(t, want, table.Job(top.ID))
		assert.Equal(t, want, table.Job(member.ID))
		assert.True(t, table.JobAlive(member.ID))
	}
	assert.NotEqual(t, table.Job(who(table, direct.pid()).ID), table.Job(who(table, limited.pid()).ID))
}

func TestJobOutlivesItsLeader(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `exec 3<&0; echo ready; read _; { echo $BASHPID; read _ <&3; } & exit 0`)
	require.Equal(t, "ready", p.line())
	job := table.Job(who(table, p.pid()).ID)
	p.goOn()
	rest := p.printed()
	require.NoError(t, waitOnly(p))
	assert.Equal(t, job, table.Job(who(table, rest).ID))
	assert.True(t, table.Alive(job))
	p.goOn()
	require.Eventually(t, func() bool { return !table.Alive(job) }, patience, tick)
}

func TestJobIsNotAnotherGroupOfItsNumber(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _")
	job := table.Job(who(table, p.pid()).ID)
	assert.True(t, table.Alive(job))
	job.Leader++
	assert.False(t, table.Alive(job))
	assert.False(t, table.Alive(Job{}))
}
