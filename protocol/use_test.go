package protocol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// somebody holds every lock, to whom nobody is kin.
func somebody(k Lock) Holding { return Holding{Lock: k, Holders: []*Party{{ID: k.By}}} }

// used reads a use as a lock is written (asked): its mode is what it does.
func used(t *testing.T, line string) Use {
	t.Helper()
	rest, cache := strings.CutSuffix(line, " cache")
	k := asked(t, rest)
	return Use{Write: k.Mode == WriteLock, Cache: cache, Start: k.Start, End: k.End, Owner: k.Owner, Handle: k.Handle}
}

func TestMayUse(t *testing.T) {
	for name, c := range map[string]struct {
		held string
		use  string
		met  string
	}{
		"nobody reads what is written":         {held: "1 write 10-19", use: "2 read 0-10", met: "write lock on bytes 10 to 19"},
		"nor writes it":                        {held: "1 write 10-19", use: "2 write 19-99", met: "write lock on bytes 10 to 19"},
		"everybody reads what is read":         {held: "1 read 10-19", use: "2 read 0-99"},
		"nobody writes it":                     {held: "1 read 10-10", use: "2 write 0-99", met: "read lock on byte 10"},
		"the bytes before are free":            {held: "1 write 10-19", use: "2 write 0-9"},
		"and those after":                      {held: "1 write 10-19", use: "2 write 20-"},
		"to the end of the file":               {held: "1 write 10-", use: "2 read 5000-5000", met: "write lock from byte 10 on"},
		"a flock is the whole file":            {held: "1 flock write", use: "2 read 7-7", met: "write lock on the whole file"},
		"the owner":                            {held: "1 write 10-19", use: "1/99 write 0-"},
		"his open file, by another":            {held: "1/7 write 10-19", use: "2/7 read 12-12", met: "write lock on bytes 10 to 19"},
		"an open-file lock is its open file's": {held: "1/7 ofd write 10-19", use: "2/7 write 12-12"},
		"and so is a flock":                    {held: "1/7 flock write", use: "2/7 write 12-12"},
		"a cache is everybody's":               {held: "1 write 10-19", use: "1 read 0-4095 cache", met: "write lock on bytes 10 to 19"},
		"and may have what all may read":       {held: "1 read 10-19", use: "2 read 0-4095 cache"},
		"no byte":                              {held: "1 write 10-19", use: "2 write 12-11"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Locks
			mustTake(t, &l, c.held)
			r := l.MayUse(used(t, c.use), somebody)
			if c.met == "" {
				assert.Nil(t, r)
				return
			}
			assert.Equal(t, c.met, r.Kind)
			assert.Equal(t, Busy, r.Reason)
		})
	}
}

func TestMayUseAsksForTheHolder(t *testing.T) {
	holder := &Party{ID: 5, Process: Process{Session: 1, UID: 1}}
	child := &Party{ID: 6, Process: Process{Session: 1, UID: 1}, Ancestors: []PartyID{5}}
	other := &Party{ID: 7, Process: Process{Session: 1, UID: 1}}
	var l Locks
	l.Acquire(Lock{Kind: Posix, Mode: WriteLock, Owner: 1, Handle: 10, Start: 0, End: 9, By: 5})
	by := func(holders ...*Party) func(Lock) Holding {
		return func(k Lock) Holding { return Holding{Lock: k, Holders: holders} }
	}
	use := Use{Start: 5, End: 5, Owner: 2, Handle: 11}
	for _, c := range []struct {
		by  *Party
		met bool
	}{{holder, false}, {child, false}, {other, true}, {nil, true}} {
		use.By = c.by
		assert.Equal(t, c.met, l.MayUse(use, by(holder)) != nil, "%v", c.by)
	}
	use.By, use.NonBlocking = other, true
	assert.Equal(t, WouldWait, l.MayUse(use, by(holder)).Reason)
	assert.Nil(t, l.MayUse(use, by()), "a lock that binds nobody")
	use.Overrides = true
	assert.Nil(t, l.MayUse(use, by(holder)), "root")
	use.Cache = true
	assert.NotNil(t, l.MayUse(use, by(holder)), "root reads for everybody")
	use.Cache, use.Overrides, use.Handle = false, false, 10
	assert.NotNil(t, l.MayUse(use, by(holder)), "a process's lock is not that of others with its open file")
	assert.Nil(t, l.MayUse(use, by(&Party{ID: 8})), "what outlives its process is the open file's")
}

func TestMayEmpty(t *testing.T) {
	var l Locks
	mustTake(t, &l, "1 read 1000-1000")
	assert.NotNil(t, l.MayEmpty(Use{Owner: 2}, somebody))
	assert.Nil(t, l.MayEmpty(Use{Owner: 1}, somebody))
}

func TestChanged(t *testing.T) {
	for _, c := range []struct {
		length, size int64
		start, end   uint64
	}{{50, 100, 50, 99}, {100, 50, 50, 99}, {0, 1, 0, 0}, {7, 7, 1, 0}} {
		start, end := Changed(c.length, c.size)
		assert.Equal(t, [2]uint64{c.start, c.end}, [2]uint64{start, end}, "%+v", c)
	}
}
