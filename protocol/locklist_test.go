package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked reads a request from a line such as "1 write 10-19", "2 read 5-", or "3 flock write". An owner has a handle ten
// times its number, unless the line says so: "1/70 write 0-9".
func asked(t *testing.T, line string) Lock {
	t.Helper()
	words := strings.Fields(line)
	k := Lock{Kind: Posix, End: ToEOF}
	owner, handle, given := strings.Cut(words[0], "/")
	k.Owner = number(t, owner)
	if k.Handle = k.Owner * 10; given {
		k.Handle = number(t, handle)
	}
	for _, word := range words[1:] {
		switch word {
		case "flock":
			k.Kind = Flock
		case "ofd":
			k.Kind = OFD
		case "write":
			k.Mode = WriteLock
		case "read":
		default:
			start, end, _ := strings.Cut(word, "-")
			k.Start = number(t, start)
			if end != "" {
				k.End = number(t, end)
			}
		}
	}
	return k
}

func number(t *testing.T, word string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(word, 10, 64)
	require.NoError(t, err)
	return n
}

// told is the inverse of asked.
func told(k Lock) string {
	mode := strings.ToLower(k.Mode.String())
	if k.Kind == Flock {
		return fmt.Sprintf("%d flock %s", k.Owner, mode)
	}
	end := ""
	if k.End != ToEOF {
		end = fmt.Sprint(k.End)
	}
	return fmt.Sprintf("%d %s %d-%s", k.Owner, mode, k.Start, end)
}

func toldAll(locks []Lock) string {
	var lines []string
	for _, k := range locks {
		lines = append(lines, told(k))
	}
	return strings.Join(lines, ", ")
}

func toldWaiters(waiters []*Waiter) string {
	var locks []Lock
	for _, w := range waiters {
		locks = append(locks, w.Lock)
	}
	return toldAll(locks)
}

// mustTake acquires locks that must all be granted.
func mustTake(t *testing.T, l *Locks, lines ...string) {
	t.Helper()
	for _, line := range lines {
		blocker, _, ok := l.Acquire(asked(t, line))
		require.True(t, ok, "%q is blocked by %q", line, told(blocker))
		require.NoError(t, l.check())
	}
}

// mustWait queues a request that must not be granted at once.
func mustWait(t *testing.T, l *Locks, line string) *Waiter {
	t.Helper()
	_, _, ok := l.Acquire(asked(t, line))
	require.False(t, ok, "%q was granted", line)
	w, _ := l.Wait(asked(t, line))
	require.NoError(t, l.check())
	return w
}

func TestLockRanges(t *testing.T) {
	for name, c := range map[string]struct {
		take    []string // in this order
		release string
		want    string
	}{
		"upgrade":                       {take: []string{"1 read 0-9", "1 write 0-9"}, want: "1 write 0-9"},
		"downgrade":                     {take: []string{"1 write 0-9", "1 read 0-9"}, want: "1 read 0-9"},
		"upgrade of the middle":         {take: []string{"1 read 0-9", "1 write 3-5"}, want: "1 read 0-2, 1 write 3-5, 1 read 6-9"},
		"upgrade of the first byte":     {take: []string{"1 read 0-9", "1 write 0-0"}, want: "1 write 0-0, 1 read 1-9"},
		"upgrade of the last byte":      {take: []string{"1 read 0-9", "1 write 9-9"}, want: "1 read 0-8, 1 write 9-9"},
		"downgrade of the tail to EOF":  {take: []string{"1 write 0-", "1 read 100-"}, want: "1 write 0-99, 1 read 100-"},
		"upgrade over several":          {take: []string{"1 read 0-1", "1 read 4-5", "1 read 8-9", "1 write 1-8"}, want: "1 read 0-0, 1 write 1-8, 1 read 9-9"},
		"the same again":                {take: []string{"1 write 0-9", "1 write 0-9"}, want: "1 write 0-9"},
		"a part of it again":            {take: []string{"1 write 0-9", "1 write 3-5"}, want: "1 write 0-9"},
		"merge with an overlap":         {take: []string{"1 read 0-5", "1 read 3-9"}, want: "1 read 0-9"},
		"merge with the neighbour":      {take: []string{"1 read 5-9", "1 read 0-4"}, want: "1 read 0-9"},
		"merge with both neighbours":    {take: []string{"1 read 0-3", "1 read 6-9", "1 read 4-5"}, want: "1 read 0-9"},
		"merge up to EOF":               {take: []string{"1 write 0-9", "1 write 10-"}, want: "1 write 0-"},
		"no merge across a gap":         {take: []string{"1 read 0-3", "1 read 5-9"}, want: "1 read 0-3, 1 read 5-9"},
		"no merge of modes":             {take: []string{"1 read 0-4", "1 write 5-9"}, want: "1 read 0-4, 1 write 5-9"},
		"no merge of owners":            {take: []string{"1 read 0-4", "2 read 5-9"}, want: "1 read 0-4, 2 read 5-9"},
		"no merge over another's lock":  {take: []string{"1 read 0-1", "2 read 0-9", "1 read 4-5"}, want: "1 read 0-1, 2 read 0-9, 1 read 4-5"},
		"merge past another's lock":     {take: []string{"1 read 0-3", "2 read 2-9", "1 read 4-5"}, want: "1 read 0-5, 2 read 2-9"},
		"a hole closed by an upgrade":   {take: []string{"1 write 0-3", "1 read 4-5", "1 write 6-9", "1 write 4-5"}, want: "1 write 0-9"},
		"flock and fcntl side by side":  {take: []string{"1 flock write", "1 ofd write 0-"}, want: "1 flock write, 1 write 0-"},
		"flock again":                   {take: []string{"1 flock write", "1 flock write"}, want: "1 flock write"},
		"flock downgrade":               {take: []string{"1 flock write", "1 flock read"}, want: "1 flock read"},
		"release of all":                {take: []string{"1 write 0-9"}, release: "1 0-", want: ""},
		"release splits":                {take: []string{"1 write 0-9"}, release: "1 3-5", want: "1 write 0-2, 1 write 6-9"},
		"release of the head":           {take: []string{"1 write 0-9"}, release: "1 0-0", want: "1 write 1-9"},
		"release of the tail":           {take: []string{"1 write 5-"}, release: "1 7-", want: "1 write 5-6"},
		"release of the last byte":      {take: []string{"1 write 0-"}, release: "1 9223372036854775807-", want: "1 write 0-9223372036854775806"},
		"release over holes":            {take: []string{"1 write 2-3", "1 read 6-7"}, release: "1 3-6", want: "1 write 2-2, 1 read 7-7"},
		"release of nothing":            {take: []string{"1 write 2-3"}, release: "1 4-", want: "1 write 2-3"},
		"release leaves others":         {take: []string{"1 read 0-9", "2 read 0-9"}, release: "1 3-5", want: "1 read 0-2, 2 read 0-9, 1 read 6-9"},
		"flock release leaves fcntl":    {take: []string{"1 flock write", "1 ofd write 0-"}, release: "1 flock", want: "1 write 0-"},
		"fcntl release leaves flock":    {take: []string{"1 flock write", "1 ofd write 0-"}, release: "1 ofd 0-", want: "1 flock write"},
		"release beside a long read":    {take: []string{"2 read 0-", "1 read 5-9"}, release: "1 9-9", want: "2 read 0-, 1 read 5-8"},
		"downgrade beside others' read": {take: []string{"2 read 0-4", "1 write 5-9", "1 read 5-6"}, want: "2 read 0-4, 1 read 5-6, 1 write 7-9"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.take...)
			if c.release != "" {
				l.Release(asked(t, c.release))
			}
			require.NoError(t, l.check())
			assert.Equal(t, c.want, toldAll(l.Held()))
			assert.Equal(t, c.want == "", l.Empty())
		})
	}
}

func TestLockConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		held    []string
		want    string
		blocker string // "" if granted
	}{
		"two readers":                      {held: []string{"1 read 0-9"}, want: "2 read 0-9"},
		"writer behind a reader":           {held: []string{"1 read 0-9"}, want: "2 write 9-", blocker: "1 read 0-9"},
		"reader behind a writer":           {held: []string{"1 write 0-9"}, want: "2 read 0-0", blocker: "1 write 0-9"},
		"two writers":                      {held: []string{"1 write 5-"}, want: "2 write 0-5", blocker: "1 write 5-"},
		"neighbours":                       {held: []string{"1 write 5-9"}, want: "2 write 0-4"},
		"neighbours, the other side":       {held: []string{"1 write 5-9"}, want: "2 write 10-"},
		"the byte before EOF":              {held: []string{"1 write 0-"}, want: "2 read 9223372036854775807-", blocker: "1 write 0-"},
		"same owner, another handle":       {held: []string{"1/10 write 0-9"}, want: "1/11 write 0-9"},
		"upgrade with another reader":      {held: []string{"1 read 0-9", "2 read 0-9"}, want: "1 write 0-9", blocker: "2 read 0-9"},
		"the first of two":                 {held: []string{"2 read 7-9", "1 read 0-3"}, want: "3 write 2-8", blocker: "1 read 0-3"},
		"a long lock before a short":       {held: []string{"1 write 0-99", "2 write 100-109"}, want: "3 read 50-60", blocker: "1 write 0-99"},
		"flock SH and SH":                  {held: []string{"1 flock read"}, want: "2 flock read"},
		"flock EX and SH":                  {held: []string{"1 flock write"}, want: "2 flock read", blocker: "1 flock write"},
		"flock SH and EX":                  {held: []string{"1 flock read"}, want: "2 flock write", blocker: "1 flock read"},
		"POSIX and OFD see each other":     {held: []string{"1 write 0-9"}, want: "2 ofd write 0-9", blocker: "1 write 0-9"},
		"flock and POSIX do not":           {held: []string{"1 flock write"}, want: "2 write 0-"},
		"POSIX and flock do not":           {held: []string{"1 write 0-"}, want: "2 flock write"},
		"flock and OFD of one open file":   {held: []string{"1 flock write"}, want: "1 ofd write 0-"},
		"POSIX and OFD of one process":     {held: []string{"1/10 write 0-9"}, want: "2/10 ofd read 0-9", blocker: "1 write 0-9"},
		"dup: one open file is one owner":  {held: []string{"1/10 flock write"}, want: "1/10 flock write"},
		"two opens are two owners":         {held: []string{"1/10 flock write"}, want: "2/20 flock write", blocker: "1 flock write"},
		"fork: the child's POSIX id":       {held: []string{"1/10 write 0-9"}, want: "2/10 write 0-9", blocker: "1 write 0-9"},
		"fork: the inherited OFD is one":   {held: []string{"1/10 ofd write 0-9"}, want: "1/10 ofd read 0-9"},
		"fork: the inherited flock is one": {held: []string{"1/10 flock read"}, want: "1/10 flock write"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.held...)
			want, before := asked(t, c.want), toldAll(l.Held())
			tested, blocked := l.Test(want)
			require.Equal(t, before, toldAll(l.Held()), "F_GETLK changes nothing")
			blocker, _, ok := l.Acquire(want)
			require.NoError(t, l.check())
			assert.Equal(t, c.blocker == "", ok)
			assert.Equal(t, !ok, blocked)
			assert.Equal(t, blocker, tested)
			if !ok {
				assert.Equal(t, c.blocker, told(blocker))
				assert.Equal(t, before, toldAll(l.Held()), "a refused fcntl lock changes nothing")
			}
		})
	}
}

// A fork or dup shares the open file (handle) and with it flock and OFD locks; POSIX locks belong to the process.
func TestLockClose(t *testing.T) {
	for name, c := range map[string]struct {
		held   []string
		owner  uint64 // FLUSH of this owner
		handle uint64 // RELEASE of this handle
		want   string
	}{
		"POSIX locks go when any descriptor closes":          {held: []string{"1/10 write 0-4", "1/11 read 7-9"}, owner: 1},
		"but not those of others":                            {held: []string{"1/10 read 0-4", "2/20 read 0-4"}, owner: 1, want: "2 read 0-4"},
		"nor those of the forked child":                      {held: []string{"1/10 write 0-4", "2/10 write 5-9"}, owner: 1, want: "2 write 5-9"},
		"a FLUSH spares OFD and flock":                       {held: []string{"7/10 ofd write 0-", "7/10 flock write"}, owner: 1, want: "7 write 0-, 7 flock write"},
		"a FLUSH is not about flock":                         {held: []string{"1/10 flock write"}, owner: 1, want: "1 flock write"},
		"a FLUSH with no lock":                               {held: []string{"1/10 write 0-4"}, owner: 9, want: "1 write 0-4"},
		"RELEASE takes flock":                                {held: []string{"7/10 flock write"}, handle: 10},
		"RELEASE takes OFD":                                  {held: []string{"7/10 ofd write 3-"}, handle: 10},
		"RELEASE takes left-over POSIX":                      {held: []string{"1/10 write 0-4"}, handle: 10},
		"RELEASE spares other handles":                       {held: []string{"7/10 flock read", "8/20 flock read", "8/20 ofd read 0-9"}, handle: 10, want: "8 flock read, 8 read 0-9"},
		"a lock merged over two handles goes with the first": {held: []string{"1/10 write 0-4", "1/11 write 5-9"}, handle: 10},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.held...)
			if c.owner != 0 {
				l.CloseOwner(c.owner)
			} else {
				l.CloseHandle(c.handle)
			}
			require.NoError(t, l.check())
			assert.Equal(t, c.want, toldAll(l.Held()))
		})
	}
}

// Who locks again through the same open file, or next to it, does not become the holder.
func TestMergedLockKeepsItsMaker(t *testing.T) {
	var l Locks
	parent := Lock{Kind: OFD, Mode: WriteLock, Owner: 7, Handle: 10, Start: 5, End: 9, By: 1, PID: 100}
	child := parent
	child.Start, child.End, child.By, child.PID = 0, 4, 2, 200
	for _, k := range []Lock{parent, child} {
		_, _, ok := l.Acquire(k)
		require.True(t, ok)
	}
	whole := parent
	whole.Start = 0
	assert.Equal(t, []Lock{whole}, l.Held())

	child.Start, child.End = 20, 29
	between := child
	between.Start, between.End = 10, 19
	for _, k := range []Lock{child, between} {
		_, _, ok := l.Acquire(k)
		require.True(t, ok)
	}
	whole.End = 29
	assert.Equal(t, []Lock{whole}, l.Held(), "of two that become one, the first")

	child.Mode = ReadLock
	_, _, ok := l.Acquire(child)
	require.True(t, ok)
	whole.End = 19
	assert.Equal(t, []Lock{whole, child}, l.Held(), "who converts a lock is its holder")
}

func TestHeldIsACopy(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 write 0-9")
	l.Held()[0].End = 99
	mustWait(t, &l, "2 read 0-9")
	l.Waiters()[0] = nil
	require.NoError(t, l.check())
}

func TestLockNames(t *testing.T) {
	assert.Equal(t, "FLOCK POSIX OFDLCK", fmt.Sprint(Flock, " ", Posix, " ", OFD))
	assert.Equal(t, "READ WRITE", fmt.Sprint(ReadLock, " ", WriteLock))
}
