package caller

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

// insideEnv says that the test binary runs in a pid namespace whose session and group began outside it.
const insideEnv = "CALLER_TEST_IN_NAMESPACE"

// In a container that was entered, session and group of what is started have the number 0.
func TestSessionFromOutsideThePidNamespace(t *testing.T) {
	if os.Getenv(insideEnv) != "" {
		t.Run("Creators", TestOpenerInCreate)
		t.Run("Kin", testKinOfSessionZero)
		t.Run("Pid1", testPid1Inherits)
		return
	}
	script := `"$0" -test.run="^$1$" -test.count=1; exit $?` // a shell that is pid 1 and waits for what it adopts
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, string(out))
}

func testKinOfSessionZero(t *testing.T) {
	table := newTable(t, Options{})
	script := startAs(t, nil, "sh", "-c", `sh -c 'echo $$; read _'; echo done; read _`)
	stranger := start(t, "sh", "-c", "read _")
	pid := script.printed()
	parent, child, other := who(table, script.pid()), who(table, pid), who(table, stranger.pid())
	require.Zero(t, parent.Process.Session)
	require.Zero(t, parent.Group)
	require.NotNil(t, table.Heir(child.ID))
	assert.Contains(t, child.Ancestors, parent.ID)
	assert.NotContains(t, other.Ancestors, parent.ID)
	assert.Equal(t, parent.ID, table.Heir(child.ID).ID)

	job := table.Job(child.ID)
	assert.Equal(t, job, table.Job(parent.ID))
	assert.NotEqual(t, job, table.Job(other.ID))
	assert.True(t, table.Alive(job))
	script.goOn()
	require.Equal(t, "done", script.line())
	assert.True(t, table.Alive(job), "the script goes on")
}

// In a container a script may be pid 1, and what it runs works for it.
func testPid1Inherits(t *testing.T) {
	table := newTable(t, Options{})
	self := who(table, os.Getpid())
	require.Len(t, self.Ancestors, 1)
	heir := table.Heir(self.ID)
	require.NotNil(t, heir)
	assert.Equal(t, 1, heir.Process.PID)
}

// Without a procfs of its own a namespace's pids are somebody else's there.
func TestProcOfAnotherNamespace(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		cmd := exec.Command("unshare", "--pid", "--fork", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), insideEnv+"=1")
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, string(out))
		return
	}
	table := newTable(t, Options{})
	p := who(table, 1)
	assert.True(t, p.Unseen)
	assert.Zero(t, p.Process.PID)
	_, alive := table.Revive(protocol.Process{Host: table.here.host, Boot: table.here.boot, PID: 1, Start: table.pidInode(1)})
	assert.False(t, alive)
}
