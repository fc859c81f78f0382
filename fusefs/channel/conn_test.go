package channel

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	opLookup  = 1
	opGetAttr = 3
)

// counter is an Options.Count.
type counter [64]atomic.Int64

func (c *counter) count(opcode uint32) { c[opcode].Add(1) }

func (m *mounted) awaitWaiting(t *testing.T, n int64) {
	require.Eventually(t, func() bool { return m.fs.waiting.Load() == n }, patience, time.Millisecond)
}

func TestHandOnLetsOthersPass(t *testing.T) {
	m := serve(t, Options{})
	var held []*client
	for range maxIdle + 4 {
		held = append(held, startClient(t, "open", m.path("hold")))
	}
	m.awaitWaiting(t, maxIdle+4)
	runClient(t, "stat", m.path("stat"))
	close(m.fs.letGo)
	for _, c := range held {
		assert.Equal(t, "opened", c.line(t))
		require.NoError(t, c.stdin.Close())
		c.wait(t)
	}
}

func TestIdleWorkersAreBounded(t *testing.T) {
	m := serve(t, Options{})
	for range 2 * maxIdle {
		startClient(t, "open", m.path("hold"))
	}
	m.awaitWaiting(t, 2*maxIdle)
	close(m.fs.letGo)
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.fs.waiting.Load() == 0 && len(m.workers) <= maxIdle+1
	}, patience, time.Millisecond)
}

func TestHandOnOfAnotherRequestDoesNothing(t *testing.T) {
	m := serve(t, Options{})
	runClient(t, "stat", m.path("stat"))
	m.HandOn(0)
	m.HandOn(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Len(t, m.workers, 1)
}

// A client that is killed while its request is handled sends INTERRUPT, and is
// gone once the request is answered.
func TestKilledClientCancelsItsRequest(t *testing.T) {
	for role, name := range map[string]string{"open": "hold", "read": "wait"} {
		t.Run(role, func(t *testing.T) {
			m := serve(t, Options{})
			c := startClient(t, role, m.path(name))
			m.awaitWaiting(t, 1)
			c.kill(t)
			m.awaitWaiting(t, 0)
			assert.EqualValues(t, 1, m.fs.cancelled.Load())
		})
	}
}

func TestAbortCancelsAllRequests(t *testing.T) {
	m := serve(t, Options{})
	opening, reading := startClient(t, "open", m.path("hold")), startClient(t, "read", m.path("wait"))
	m.awaitWaiting(t, 2)
	require.NoError(t, m.Abort())
	m.waitServed(t)
	assert.EqualValues(t, 2, m.fs.cancelled.Load())
	assert.Error(t, opening.cmd.Wait())
	assert.Error(t, reading.cmd.Wait())
	assert.Contains(t, opening.stderr.String(), unix.ECONNABORTED.Error())
	assert.NoError(t, m.Abort(), "after the end")
}

func TestPanicInAHandlerIsEIO(t *testing.T) {
	var log logBuffer
	m := serve(t, Options{Log: log.logger()})
	c := startClient(t, "open", m.path("panic"))
	assert.Error(t, c.cmd.Wait())
	assert.Contains(t, c.stderr.String(), unix.EIO.Error())
	assert.Contains(t, log.String(), `msg="a request handler panicked" panic="asked to"`)
	runClient(t, "stat", m.path("stat"))
}

func TestDeviceIsCloseOnExec(t *testing.T) {
	serve(t, Options{})
	assertCloseOnExec(t)
}

func assertCloseOnExec(t *testing.T) {
	fds := deviceDescriptors(t)
	require.Len(t, fds, 1)
	flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.NotZero(t, flags&unix.FD_CLOEXEC)
}

func TestPassthroughReadsTheBackingFile(t *testing.T) {
	var log logBuffer
	var requests counter
	m := serve(t, Options{Count: requests.count, Log: log.logger()})
	require.True(t, m.Has(fuse.CAP_PASSTHROUGH))
	m.fs.fill(t, "pass", []byte("past"))
	c := startClient(t, "read", m.path("pass"))
	assert.Equal(t, "past", c.line(t))
	c.wait(t)
	assert.Zero(t, requests[opRead].Load())

	id := m.fs.backing.Load()
	m.CloseBacking(id)
	assert.NotContains(t, log.String(), "cannot give a passthrough file back")
	m.CloseBacking(id)
	assert.Contains(t, log.String(), "cannot give a passthrough file back")
	_, err := m.OpenBacking(-1)
	assert.ErrorIs(t, err, unix.EBADF)
}

func TestCapabilities(t *testing.T) {
	t.Run("default", func(t *testing.T) {
		m := serve(t, Options{})
		assert.True(t, m.Has(fuse.CAP_ATOMIC_O_TRUNC|fuse.CAP_DONT_MASK))
		assert.True(t, m.Has(fuse.CAP_POSIX_LOCKS|fuse.CAP_FLOCK_LOCKS|fuse.CAP_POSIX_ACL))
		assert.False(t, m.Has(fuse.CAP_READDIRPLUS))
	})
	t.Run("changed", func(t *testing.T) {
		m := serve(t, Options{Enable: fuse.CAP_READDIRPLUS, Disable: fuse.CAP_POSIX_ACL})
		assert.True(t, m.Has(fuse.CAP_READDIRPLUS))
		assert.False(t, m.Has(fuse.CAP_POSIX_ACL))
	})
}

func TestNotificationsDropWhatTheKernelKnows(t *testing.T) {
	var requests counter
	m := serve(t, Options{Count: requests.count})
	requestsOfStat := func() (lookups, getattrs int64) {
		l, g := requests[opLookup].Load(), requests[opGetAttr].Load()
		runClient(t, "stat", m.path("keep"))
		return requests[opLookup].Load() - l, requests[opGetAttr].Load() - g
	}
	expect := func(lookups, getattrs int64) {
		t.Helper()
		l, g := requestsOfStat()
		assert.Equal(t, []int64{lookups, getattrs}, []int64{l, g}, "LOOKUPs and GETATTRs")
	}
	requestsOfStat()
	expect(0, 0)
	node := m.fs.named("keep").id
	require.NoError(t, m.NotifyInode(node, -1, 0))
	expect(0, 1)
	// The kernel takes a notified name for a change of the folder, too.
	require.NoError(t, m.NotifyEntry(fuse.FUSE_ROOT_ID, "keep"))
	expect(1, 1)
	require.NoError(t, m.NotifyDelete(fuse.FUSE_ROOT_ID, node, "keep"))
	expect(1, 1)
}

func TestNotificationsOfUnknownThingsAndAfterTheEnd(t *testing.T) {
	m := serve(t, Options{})
	assert.NoError(t, m.NotifyInode(4711, 0, 0))
	assert.NoError(t, m.NotifyEntry(fuse.FUSE_ROOT_ID, "never seen"))
	assert.NoError(t, m.NotifyDelete(fuse.FUSE_ROOT_ID, 4711, "never seen"))
	require.NoError(t, m.Unmount(false))
	m.waitServed(t)
	assert.Error(t, m.NotifyInode(4711, 0, 0))
	_, err := m.OpenBacking(0)
	assert.Error(t, err)
}

// A background request that takes long must not hold a RELEASE back; at the
// kernel's limit it does, which shows that the probe sees it.
func TestReadAheadDoesNotDelayRelease(t *testing.T) {
	const rounds = 50
	for maxBackground, misordered := range map[int]int{0: 0, 1: rounds} {
		t.Run(fmt.Sprintf("limit %d", maxBackground), func(t *testing.T) {
			m := serve(t, Options{MaxBackground: maxBackground})
			reader := startClient(t, "read", m.path("slow"))
			m.awaitWaiting(t, 1)
			runClient(t, "order", m.path("order"), strconv.Itoa(rounds))
			assert.EqualValues(t, misordered, m.fs.misordered.Load())
			close(m.fs.letGo)
			reader.wait(t)
		})
	}
}

func TestWriteReachesTheFile(t *testing.T) {
	m := serve(t, Options{})
	c := startClient(t, "bench", "write1m", m.path("file"), "1")
	m.fs.fill(t, "file", []byte("not zero"))
	_, err := c.stdin.Write([]byte("\n"))
	require.NoError(t, err)
	c.wait(t)
	got := make([]byte, 8)
	_, err = unix.Pread(m.fs.named("file").fd, got, 0)
	require.NoError(t, err)
	assert.Equal(t, "0000000000000000", hex.EncodeToString(got))
}
