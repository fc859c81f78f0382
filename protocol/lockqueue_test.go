package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockQueue(t *testing.T) {
	for name, c := range map[string]struct {
		held    []string
		wait    []string // each must wait
		release string
		granted string
		left    string
	}{
		"first come, first":              {held: []string{"1 write 0-9"}, wait: []string{"2 write 0-9", "3 write 0-9"}, release: "1 0-9", granted: "2 write 0-9", left: "3 write 0-9"},
		"readers go together":            {held: []string{"1 write 0-9"}, wait: []string{"2 read 0-9", "3 read 0-9"}, release: "1 0-9", granted: "2 read 0-9, 3 read 0-9"},
		"readers behind a writer wait":   {held: []string{"1 read 0-9"}, wait: []string{"2 write 0-9", "3 read 0-9"}, release: "1 0-9", granted: "2 write 0-9", left: "3 read 0-9"},
		"the head of the line only":      {held: []string{"1 write 0-9"}, wait: []string{"2 read 0-9", "3 write 0-9", "4 read 0-9"}, release: "1 0-9", granted: "2 read 0-9", left: "3 write 0-9, 4 read 0-9"},
		"an unrelated range passes":      {held: []string{"1 write 0-9"}, wait: []string{"2 write 0-4", "3 write 5-9"}, release: "1 5-9", granted: "3 write 5-9", left: "2 write 0-4"},
		"a downgrade lets readers pass":  {held: []string{"1 write 0-9"}, wait: []string{"2 read 0-9"}, release: "1 read 0-9", granted: "2 read 0-9"},
		"all its bytes must be free":     {held: []string{"1 write 0-1", "3 write 8-9"}, wait: []string{"2 read 0-9"}, release: "1 0-9", left: "2 read 0-9"},
		"an owner's second request":      {held: []string{"1 write 0-9"}, wait: []string{"2 read 0-9", "2 write 0-9"}, release: "1 0-9", granted: "2 read 0-9, 2 write 0-9"},
		"flock waits for flock":          {held: []string{"1 flock write"}, wait: []string{"2 flock read", "3 flock write"}, release: "1 flock", granted: "2 flock read", left: "3 flock write"},
		"a granted downgrade lets pass":  {held: []string{"1 write 10-19", "2 write 0-9"}, wait: []string{"3 read 5-6", "2 read 0-19"}, release: "1 0-", granted: "2 read 0-19, 3 read 5-6"},
		"a fcntl release wakes no flock": {held: []string{"1 flock write", "1 ofd write 0-"}, wait: []string{"2 flock write"}, release: "1 ofd 0-", left: "2 flock write"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.held...)
			for _, line := range c.wait {
				mustWait(t, &l, line)
			}
			granted := releaseOrTake(t, &l, c.release)
			require.NoError(t, l.check())
			assert.Equal(t, c.granted, toldWaiters(granted))
			assert.Equal(t, c.left, toldWaiters(l.Waiters()))
			for _, w := range granted {
				assert.True(t, w.Granted)
			}
		})
	}
}

// releaseOrTake acquires if the line names a mode, which here is a downgrade, else it releases.
func releaseOrTake(t *testing.T, l *Locks, line string) []*Waiter {
	t.Helper()
	if k := asked(t, line); told(k) == line {
		_, granted, ok := l.Acquire(k)
		require.True(t, ok)
		return granted
	}
	return l.Release(asked(t, line))
}

func TestNewcomersStandInLine(t *testing.T) {
	for name, c := range map[string]struct {
		held  []string
		wait  []string
		want  string
		ahead bool
		ok    bool
	}{
		"a reader behind a waiting writer":       {held: []string{"1 read 0-9"}, wait: []string{"2 write 0-9"}, want: "3 read 0-9"},
		"elsewhere in the file":                  {held: []string{"1 read 0-9"}, wait: []string{"2 write 0-9"}, want: "3 write 10-19", ok: true},
		"a reader behind a waiting reader":       {held: []string{"1 write 0-4"}, wait: []string{"2 read 0-9"}, want: "3 read 5-9", ok: true},
		"what the owner has already":             {held: []string{"1 read 0-9"}, wait: []string{"2 write 0-9"}, want: "1 read 3-5", ok: true},
		"upgrade of the only reader":             {held: []string{"1 read 0-9"}, wait: []string{"2 write 0-9"}, want: "1 write 0-9", ok: true},
		"more for the one who is waited for":     {held: []string{"1 write 0-9"}, wait: []string{"2 write 0-19"}, want: "1 write 10-19", ok: true},
		"more for a holder nobody waits for":     {held: []string{"1 read 0-9", "3 read 50-50"}, wait: []string{"2 write 0-9"}, want: "3 read 0-9"},
		"the same process, flock beside fcntl":   {held: []string{"1 flock read"}, wait: []string{"2 flock write"}, want: "1 ofd read 0-", ok: true},
		"a child that the holder waits for":      {held: []string{"1 flock read"}, wait: []string{"2 flock write"}, want: "3 flock read", ahead: true, ok: true},
		"ahead is no key to what is held":        {held: []string{"1 flock read"}, wait: []string{"2 flock write"}, want: "3 flock write", ahead: true},
		"flock downgrade with a waiting writer":  {held: []string{"1 flock write"}, wait: []string{"2 flock write"}, want: "1 flock read", ok: true},
		"flock upgrade of the only shared owner": {held: []string{"1 flock read"}, wait: []string{"2 flock write"}, want: "1 flock write", ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.held...)
			for _, line := range c.wait {
				mustWait(t, &l, line)
			}
			want := asked(t, c.want)
			want.Ahead = c.ahead
			_, granted, ok := l.Acquire(want)
			require.NoError(t, l.check())
			assert.Equal(t, c.ok, ok)
			assert.Empty(t, granted)
		})
	}
}

// flock(2): a conversion releases first. So it loses the lock when it fails, and two owners that both convert do not
// wait for each other.
func TestFlockConversionReleasesFirst(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 flock read", "2 flock read", "3 flock read")
	first := mustWait(t, &l, "1 flock write")
	assert.Equal(t, "2 flock read, 3 flock read", toldAll(l.Held()))

	_, _, ok := l.Acquire(asked(t, "2 flock write"))
	require.NoError(t, l.check())
	assert.False(t, ok)
	assert.Equal(t, "3 flock read", toldAll(l.Held()), "LOCK_NB failed, and the shared lock is gone")
	assert.Equal(t, []*Waiter{first}, l.CloseHandle(30))
}

// An fcntl upgrade keeps the read lock while it waits, so nobody can write in between.
func TestPosixUpgradeKeepsTheReadLock(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 read 0-9", "2 read 0-9")
	mustWait(t, &l, "1 write 0-9")
	assert.Equal(t, "1 read 0-9, 2 read 0-9", toldAll(l.Held()))
	assert.Equal(t, "1 write 0-9", toldWaiters(l.CloseOwner(2)))
	assert.Equal(t, "1 write 0-9", toldAll(l.Held()))
}

// Readers that come and go for ever don't starve a writer: it waits for those that were there before it.
func TestReadersDoNotStarveAWriter(t *testing.T) {
	const readers = 10
	var l Locks
	for i := range readers {
		mustTake(t, &l, fmt.Sprintf("%d read 0-", i+1))
	}
	writer := mustWait(t, &l, "99 write 0-")
	for i := range readers {
		require.False(t, writer.Granted)
		l.Release(asked(t, fmt.Sprintf("%d 0-", i+1)))
		_, _, ok := l.Acquire(asked(t, fmt.Sprintf("%d read 0-", i+1)))
		require.False(t, ok, "reader %d comes back before the writer had its turn", i+1)
	}
	assert.True(t, writer.Granted)
}

// Two owners hold what the other's line waits for; without the exception all four would wait for ever.
func TestStandingInLineIsNoDeadlock(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 write 0-9", "2 write 10-19")
	mustWait(t, &l, "3 write 10-25")
	second := mustWait(t, &l, "1 write 20-25")
	require.False(t, second.Granted)

	_, granted := l.Wait(asked(t, "4 write 0-9"))
	require.NoError(t, l.check())
	assert.Equal(t, []*Waiter{second}, granted, "owner 1 is waited for now")
}

func TestCancel(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 read 0-9")
	writer := mustWait(t, &l, "2 write 0-9")
	reader := mustWait(t, &l, "3 read 0-9")

	assert.Equal(t, []*Waiter{reader}, l.Cancel(writer), "nobody is before the reader any more")
	assert.Empty(t, l.Cancel(writer), "cancelled twice")
	assert.Empty(t, l.Cancel(reader), "too late, it has its lock")
	assert.False(t, writer.Granted)
	assert.True(t, reader.Granted)
	require.NoError(t, l.check())
	assert.Equal(t, "1 read 0-9, 3 read 0-9", toldAll(l.Held()))
}

func TestCloseLetsWaitersThrough(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1/10 write 0-9", "7/10 flock write")
	fcntl := mustWait(t, &l, "2 write 0-9")
	flock := mustWait(t, &l, "3 flock write")
	assert.Empty(t, l.CloseOwner(4))
	assert.Equal(t, []*Waiter{fcntl}, l.CloseOwner(1))
	assert.Equal(t, []*Waiter{flock}, l.CloseHandle(10))
	assert.Empty(t, l.Waiters())
	l.CloseHandle(20)
	l.CloseHandle(30)
	assert.True(t, l.Empty())
}

func TestBlocker(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 read 0-9")
	writer, reader := mustWait(t, &l, "2 write 0-9"), mustWait(t, &l, "3 read 0-9")
	blocker, ok := l.Blocker(writer)
	assert.True(t, ok)
	assert.Equal(t, "1 read 0-9", told(blocker))
	blocker, ok = l.Blocker(reader)
	assert.True(t, ok)
	assert.Equal(t, "2 write 0-9", told(blocker))

	l.Release(asked(t, "1 0-9"))
	_, ok = l.Blocker(writer)
	assert.False(t, ok)
}
