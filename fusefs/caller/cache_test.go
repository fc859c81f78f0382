package caller

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// When the descriptors run out, cached parties make room for the caller that is there.
func TestCacheGivesWayWhenDescriptorsRunOut(t *testing.T) {
	table := newTable(t, Options{})
	cached := who(table, shell(t, "read _").pid())
	for range 3 {
		who(table, shell(t, "read _").pid())
	}
	next := shell(t, "read _")
	useUp(t)
	party := who(table, next.pid())
	assert.False(t, table.Ended(party.ID))
	assert.Equal(t, next.pid(), party.Process.PID)
	assert.Nil(t, table.Party(cached.ID))
}

// useUp leaves no free descriptor until the test ends.
func useUp(t *testing.T) {
	t.Helper()
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	low := was
	low.Cur = 256
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	var taken []int
	t.Cleanup(func() {
		for _, fd := range taken {
			_ = unix.Close(fd)
		}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
	})
	for {
		fd, err := unix.Dup(0)
		if err == unix.EMFILE {
			return
		}
		require.NoError(t, err)
		taken = append(taken, fd)
	}
}

func TestShortLivedCallersLeaveNoDescriptor(t *testing.T) {
	table := newTable(t, Options{})
	who(table, os.Getpid())
	before := descriptors(t)
	for range 500 {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		require.NoError(t, err)
		party := who(table, pid)
		table.Closing(uint32(pid), 0, 0)
		if pid%2 == 0 && table.Party(party.ID) != nil {
			table.End(party.ID)
		}
		_, err = unix.Wait4(pid, nil, 0, nil)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return descriptors(t) <= before }, patience, tick)
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func TestTheCacheIsBounded(t *testing.T) {
	const limit = 8
	table := newTable(t, Options{Limit: limit})
	watched := bash(t, `( echo $BASHPID; read _ ); true`)
	child := who(table, watched.printed())
	table.Watch(child.ID)
	for range 30 {
		p := shell(t, "read _")
		party, _ := table.Closing(uint32(p.pid()), 0, 0)
		assert.Same(t, party, table.Party(party.ID), "the newest is never forgotten")
	}
	assert.LessOrEqual(t, len(table.byID), limit+1)
	assert.LessOrEqual(t, len(table.threads), limit)
	assert.Same(t, child, table.Party(child.ID), "a watched party is kept")
	require.Len(t, child.Ancestors, 1)
	assert.NotNil(t, table.Party(child.Ancestors[0]), "so are its ancestors")
	watched.goOn()
	assert.Equal(t, child.ID, (<-table.Ends()).Party)
	assert.Equal(t, table.recent.Len(), len(table.byID)-kept(table), "and then no more")
}

// kept counts the parties that can't be forgotten.
func kept(t *Table) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, e := range t.byID {
		if e.pinnedLocked() || e.kids > 0 {
			n++
		}
	}
	return n
}

// A FLUSH is handled before any other request is read, so it can't wait for a caller to stay in the cache.
func TestClosingLooksAtACallerOnlySoOften(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "read _")
	e := table.resolve(uint32(p.pid()), 0, 0)
	e.dir.drop()
	party, verdict := table.Closing(uint32(p.pid()), 0, 0)
	assert.Equal(t, e.id, party.ID)
	assert.Equal(t, protocol.Unknown, verdict.Kind)
}
