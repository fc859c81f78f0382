package fusefs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

const hog, other = 1000, 2000

func TestHalfOfAllWaitsForOneUser(t *testing.T) {
	d := newDesk(Config{})
	wait := func(n int, uid uint32) {
		for range n {
			d.waits[&protocol.Waiter{}] = &lockWait{uid: uid}
		}
	}
	wait(mostWaits/2-1, hog)
	require.NoError(t, d.waitRoomLocked(hog))
	wait(1, hog)
	require.Error(t, d.waitRoomLocked(hog))
	require.NoError(t, d.waitRoomLocked(other))
	wait(mostWaits/2-1, 0)
	require.NoError(t, d.waitRoomLocked(0), "root has no share")
	wait(1, 0)
	require.Error(t, d.waitRoomLocked(0), "but there is an end")
}

func TestNamesInListingsAreCountedByUser(t *testing.T) {
	l := newListings()
	a, b := l.get(l.open(nil)), l.get(l.open(nil))
	keep := func(x *listing, uid uint32) error {
		x.names.count = 10
		return l.keep(x, uid, 15)
	}
	require.NoError(t, keep(a, hog))
	require.Error(t, keep(b, hog))
	require.NoError(t, keep(b, other))
	require.NoError(t, keep(a, hog), "read anew")
	l.close(1)
	l.close(2)
	assert.Empty(t, l.names)
}

func TestHalfOfAllCopiesForOneUser(t *testing.T) {
	c := newCopies()
	ends := make(chan func(), mostCopies)
	for range mostCopies/2 + 1 {
		go func() { ends <- c.begin(hog) }()
	}
	var begun []func()
	for range mostCopies / 2 {
		begun = append(begun, <-ends)
	}
	c.begin(other)() // does not wait for them
	require.Empty(t, ends, "one too many")
	for _, end := range begun {
		end()
	}
	(<-ends)()
	assert.Empty(t, c.byUID)
	assert.Zero(t, c.all)
}
