package backing

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A filesystem that is a program can answer EINTR for ever.
func TestCallsAreNotRepeatedForEver(t *testing.T) {
	calls := 0
	require.ErrorIs(t, retry(func() error { calls++; return unix.EINTR }), unix.EIO)
	require.Equal(t, mostInterrupts, calls)
	require.NoError(t, retry(func() error {
		if calls--; calls > 0 {
			return unix.EINTR
		}
		return nil
	}))
}

func TestEachStretchOfDataIsAStepOn(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("text"), 1<<20)
	require.NoError(t, err)
	for off := int64(0); off < 1<<20; off += 1 << 16 {
		data, hole, err := nextData(int(f.Fd()), off, 1<<20+4)
		require.NoError(t, err)
		require.GreaterOrEqual(t, data, off)
		require.Greater(t, hole, data)
	}
}
