package caller

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestFactsAtFirstSight(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _")
	got := table.Who(uint32(p.pid()), 0, 0)
	assert.Equal(t, p.pid(), got.Process.PID)
	assert.Equal(t, p.pid(), got.Process.Session)
	assert.Equal(t, p.pid(), got.Group)
	assert.Equal(t, "sh", got.Program)
	assert.Empty(t, got.Ancestors, "its parent is in another session")
	assert.NotZero(t, got.Process.Start)
	assert.True(t, table.Here(got.Process))
	assert.Same(t, got, table.Party(got.ID))
	assert.Same(t, got, table.Who(uint32(p.pid()), 0, 0))
}

func TestThreadsAreOneParty(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, runHelper("thread")+"; true")
	tid := p.printed()
	party := who(table, tid)
	assert.NotEqual(t, tid, party.Process.PID)
	assert.Equal(t, party.ID, who(table, party.Process.PID).ID)
	assert.Equal(t, party.ID, who(table, tid).ID, "from the cache")
	p.goOn()
	require.Equal(t, "ended", p.line())
	require.Eventually(t, func() bool { return unix.Kill(tid, 0) == unix.ESRCH }, patience, tick)
	gone := who(table, tid)
	assert.NotEqual(t, party.ID, gone.ID)
	assert.True(t, table.Ended(gone.ID))
	assert.False(t, table.Ended(party.ID))
}

func TestReusedProcessIDIsAnotherParty(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _; exit 4")
	first := who(table, p.pid())
	table.Watch(first.ID)
	p.goOn()
	_ = p.Wait()
	again := startWithID(t, p.pid())
	second := who(table, again.pid())
	assert.NotEqual(t, first.ID, second.ID)
	assert.NotEqual(t, first.Process, second.Process)
	assert.False(t, table.Ended(second.ID))
	assert.True(t, table.Ended(first.ID))
	assert.Equal(t, protocol.Verdict{Kind: protocol.Failed, Status: 4}, table.End(first.ID).Verdict)
	_, ok := table.Revive(first.Process)
	assert.False(t, ok)
}

// startWithID starts processes until one gets a process id that is free.
func startWithID(t *testing.T, pid int) *prog {
	t.Helper()
	for range 500 {
		require.NoError(t, os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, pid-1), 0))
		p := shell(t, "read _")
		if p.pid() == pid {
			return p
		}
		require.NoError(t, p.Process.Kill())
		_ = p.Wait()
	}
	require.Fail(t, "the id was never free")
	return nil
}

func TestUnseenCallers(t *testing.T) {
	table := newTable(t, Options{})
	a, b, other := table.Who(0, 5, 5), table.Opener(0, 5, 5), table.Who(0, 6, 6)
	assert.True(t, a.Unseen)
	assert.Equal(t, a.ID, b.ID)
	assert.NotEqual(t, a.ID, other.ID)
	assert.False(t, table.Ended(a.ID))
	_, v := table.Closing(0, 5, 5)
	assert.Equal(t, protocol.Unknown, v.Kind)
	_, err := table.Register(0, 5, 5, "w")
	assert.Error(t, err)
}

func TestVanishedCallerHasEndedAndIsNobodysKin(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "exit 0")
	_ = p.Wait()
	a, b := who(table, p.pid()), who(table, p.pid())
	assert.True(t, table.Ended(a.ID))
	assert.False(t, protocol.Kin(a, b))
	_, v := table.Closing(uint32(p.pid()), 0, 0)
	assert.Equal(t, protocol.Unknown, v.Kind)
}

func TestCredentialsComeWithTheRequest(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _")
	a, b := table.Who(uint32(p.pid()), 0, 0), table.Who(uint32(p.pid()), 7, 8)
	assert.Equal(t, a.ID, b.ID)
	assert.EqualValues(t, 0, a.Process.UID)
	assert.EqualValues(t, 7, b.Process.UID)
	assert.EqualValues(t, 8, b.GID)
}

func TestProcessThatMovesToItsOwnSession(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `( echo $BASHPID; read _; exec setsid "$BASH" -c 'echo $$; read _' ); true`)
	pid := p.printed()
	before := who(table, pid)
	parent := who(table, p.pid())
	assert.True(t, protocol.Kin(parent, before))
	p.goOn()
	require.Equal(t, pid, p.printed(), "setsid must keep the process")
	after := who(table, pid)
	assert.Equal(t, before.ID, after.ID)
	assert.Equal(t, pid, after.Process.Session)
	assert.Empty(t, after.Ancestors)
	assert.False(t, protocol.Kin(parent, after))
}

func TestGroupsAndExe(t *testing.T) {
	table := newTable(t, Options{})
	attr := &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: 0, Gid: 0, Groups: []uint32{7, 4242}}}
	p := startAs(t, attr, "sh", "-c", "echo ready; read _")
	require.Equal(t, "ready", p.line())
	assert.Equal(t, []uint32{7, 4242}, table.Groups(uint32(p.pid())))
	id := who(table, p.pid()).ID
	_, _, ok := table.Exe(id)
	assert.False(t, ok, "only an opener's is known")
	opener(table, p.pid())
	dev, ino, ok := table.Exe(id)
	require.True(t, ok)
	var st unix.Stat_t
	require.NoError(t, unix.Stat("/bin/sh", &st))
	assert.Equal(t, [2]uint64{st.Dev, st.Ino}, [2]uint64{dev, ino})
}

func TestExeAfterExec(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "echo ready; read _; exec env "+runHelper("wait"))
	require.Equal(t, "ready", p.line())
	id := opener(table, p.pid()).ID
	_, shell, _ := table.Exe(id)
	p.goOn()
	require.Equal(t, p.pid(), p.printed())
	assert.Equal(t, "caller.test", opener(table, p.pid()).Program)
	_, ino, _ := table.Exe(id)
	assert.NotEqual(t, shell, ino)
}

func TestConcurrentCallers(t *testing.T) {
	table := newTable(t, Options{Limit: 4})
	var pids []int
	for range 8 {
		pids = append(pids, shell(t, "read _").pid())
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				pid := pids[(i+n)%len(pids)]
				assert.Equal(t, pid, who(table, pid).Process.PID)
				assert.Equal(t, pid, opener(table, pid).Process.PID)
				_, v := table.Closing(uint32(pid), 0, 0)
				assert.Equal(t, protocol.Living, v.Kind)
			}
		})
	}
	wg.Wait()
}

func TestSameIDForConcurrentFirstSights(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _")
	ids := make([]protocol.PartyID, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = who(table, p.pid()).ID })
	}
	wg.Wait()
	for _, id := range ids {
		assert.Equal(t, ids[0], id)
	}
}

// An idle table must not wake up. What could wake it is a timer; there is none to be had without package time.
func TestNothingTicks(t *testing.T) {
	source := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", source, parser.ImportsOnly)
	require.NoError(t, err)
	require.NotEmpty(t, packages["caller"].Files)
	for name, file := range packages["caller"].Files {
		for _, imported := range file.Imports {
			assert.NotEqual(t, `"time"`, imported.Path.Value, name)
		}
	}
}
