package parcel_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

func TestWholeParcelsAreRead(t *testing.T) {
	for _, size := range []int{0, 1, 63, 4096, 70_000} {
		names, err := parcel.Parse(parcel.Make("a-1", size))
		require.NoError(t, err)
		assert.Equal(t, []string{"a-1"}, names)
	}
	names, err := parcel.Parse(append(parcel.Make("a-1", 10), parcel.Make("b-2", 0)...))
	require.NoError(t, err)
	assert.Equal(t, []string{"a-1", "b-2"}, names)
}

func TestEveryCutAndEveryChangeIsSeen(t *testing.T) {
	whole := parcel.Make("a-1", 200)
	for n := range whole {
		_, err := parcel.Parse(whole[:n])
		assert.Error(t, err, "cut after %d bytes", n)
	}
	header := bytes.IndexByte(whole, '\n')
	for n := header + 1; n < len(whole); n++ {
		other := bytes.Clone(whole)
		other[n] ^= 1
		_, err := parcel.Parse(other)
		assert.Error(t, err, "byte %d changed", n)
	}
	_, err := parcel.Parse(append(whole, 'x'))
	assert.Error(t, err, "a byte too many")
}
