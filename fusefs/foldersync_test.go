package fusefs

import (
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

// slowFolder is an open folder whose syncs a test lets run.
type slowFolder struct {
	open  *atomic.Int32
	syncs *atomic.Int32
	begun chan struct{}
	end   chan error
}

func (f slowFolder) Sync() error {
	f.syncs.Add(1)
	f.begun <- struct{}{}
	return <-f.end
}

func (f slowFolder) Close() { f.open.Add(-1) }

func TestOneSyncIsForAllWhoAskedBeforeItBegan(t *testing.T) {
	var open, syncs atomic.Int32
	f := slowFolder{&open, &syncs, make(chan struct{}), make(chan error)}
	s := &folderSyncs{last: map[backing.ID]*folderSync{}, ended: func(x *folderSync) { assert.False(t, x.over()) }}
	ask := func(ino uint64) *folderSync {
		open.Add(1)
		return s.ask(f, backing.ID{Ino: ino}, "in")
	}
	first := ask(1)
	<-f.begun
	var later []*folderSync
	for range 15 {
		later = append(later, ask(1))
	}
	require.NotSame(t, first, later[0], "it runs already, and may have missed the name")
	for _, x := range later {
		require.Same(t, later[0], x)
	}
	require.Equal(t, int32(2), open.Load(), "one descriptor for each sync")
	other := ask(2)
	<-f.begun // folders do not wait for each other
	f.end <- nil
	f.end <- nil
	<-f.begun
	f.end <- syscall.EIO
	s.running.Wait()
	require.Equal(t, int32(3), syncs.Load())
	require.NoError(t, first.err)
	require.NoError(t, other.err)
	require.ErrorIs(t, later[14].err, syscall.EIO, "it was theirs, too")
	require.Empty(t, s.last)
	require.Zero(t, open.Load())
}
