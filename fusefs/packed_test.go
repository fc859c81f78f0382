package fusefs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

func TestPackedNamesAreReadFromEachOffset(t *testing.T) {
	var p packed
	var all []backing.Entry
	for n := range 3000 {
		e := backing.Entry{Name: fmt.Sprint(n, strings.Repeat("x", n%250)), Ino: uint64(n) << (n % 50), Type: uint8(n % 16)}
		all = append(all, e)
		p.add(e)
	}
	require.Equal(t, len(all), p.count)
	require.Greater(t, len(p.blocks), 3)
	off := uint64(0)
	for n := 0; n < len(all); n++ {
		e, ok := p.at(off)
		require.True(t, ok)
		require.Equal(t, all[n], backing.Entry{Name: e.Name, Ino: e.Ino, Type: uint8(e.Mode >> 12)})
		require.Greater(t, e.Off, off)
		off = e.Off
	}
	_, ok := p.at(off)
	require.False(t, ok)
}

// A program may seek a folder to any offset.
func TestPackedNamesStandAnyOffset(t *testing.T) {
	var p packed
	for n := range 3000 {
		p.add(backing.Entry{Name: strings.Repeat("\xff", n%256), Ino: ^uint64(0) >> (n % 60)})
	}
	for off := range uint64(4 * blockSize) {
		if e, ok := p.at(off); ok {
			require.Greater(t, e.Off, off)
		}
	}
	_, ok := p.at(^uint64(0))
	require.False(t, ok)
	_, ok = new(packed).at(0)
	require.False(t, ok)
}
