package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// everyPageAnew changes every page of an existing file through a shared mapping. The kernel writes them back many at a time.
const everyPageAnew = `
import mmap, os
fd = os.open("f", os.O_RDWR)
m = mmap.mmap(fd, 0)
for i in range(0, len(m), 4096): m[i:i+4096] = b"new." * 1024
m.close()
os.close(fd)
`

// The first page that comes makes the version, a copy of the former one; none of the others may be copied over.
func TestI4_NoPageOfAMappingIsLost(t *testing.T) {
	m := mount(t)
	for range 10 {
		m.Must(`yes old | head -c 4194304 > f`)
		m.Must("python3 -c %s", quote(everyPageAnew))
		require.Equal(t, "0", m.Must(`tr -d 'new.' < f | wc -c`))
		m.Must(`rm f`)
	}
}

// TestI2_AWriterThatIsKilledWithAMappingPublishesNothing, though it has closed the descriptor: Go's Mmap, as mmap(2), keeps none.
func TestI2_AWriterThatIsKilledWithAMappingPublishesNothing(t *testing.T) {
	for _, w := range []struct {
		name  string
		calls []string
	}{
		{"half-way", []string{"close f", "store f 123"}},
		{"half-way, and what it had is durable", []string{"store f 123", "fsync f", "close f"}},
		{"before the first byte", []string{"close f"}},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			c := m.Client()
			c.OK("open f f rwc", "ftruncate f 5", "mapw f")
			c.OK(w.calls...)
			c.Kill()
			require.Empty(t, m.Run("%s", look).Out)
			i := m.item("f")
			require.Equal(t, "quarantined", i.State)
			require.Regexp(t, `killed by signal 9`, i.Reason)
		})
	}
}

// TestI7_AMappingThatIsGoneIsSeenAtOnce: how its writer ends later says nothing.
func TestI7_AMappingThatIsGoneIsSeenAtOnce(t *testing.T) {
	m := mount(t)
	c := m.Client()
	c.OK("open f f rwc", "ftruncate f 5", "mapw f", "close f", "store f 12345", "unmap f")
	require.Equal(t, "f\n5\n12345", m.Must("%s", look))
	c.Kill()
	require.Empty(t, m.Status())
}
