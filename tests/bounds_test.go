package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// memory is a value of the daemon's /proc/PID/status in bytes.
func (m *Mount) memory(field string) int {
	m.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid()))
	require.NoError(m.t, err)
	_, rest, found := strings.Cut(string(status), "\n"+field+":")
	require.True(m.t, found)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(m.t, err)
	return kib * 1024
}

// What a mount may take (docs/bounds.md).
const (
	mostAtRest  = 30 << 20 // resident bytes of an idle mount
	mostPerItem = 600      // of heap for each file that was looked at
	heapPerLive = 2        // Go lets its heap grow to twice what lives
)

// TestAMillionFilesAreLookedAtWithinTheMemoryBudget, in one folder and in a thousand. (AIRLOCKFS_ITEMS says how many:
// two thousand by default.)
func TestAMillionFilesAreLookedAtWithinTheMemoryBudget(t *testing.T) {
	items := surroundings.Number(t, "AIRLOCKFS_ITEMS", 2000)
	for _, folders := range []int{1, max(10, items/1000)} {
		t.Run(fmt.Sprint("in ", folders), func(t *testing.T) {
			m := mount(t)
			for n := range folders {
				require.NoError(t, os.Mkdir(m.Below(fmt.Sprint(n)), 0o755))
			}
			for n := range items {
				require.NoError(t, os.WriteFile(m.Below(fmt.Sprintf("%d/item-%07d", n%folders, n)), nil, 0o644))
			}
			before := m.memory("VmRSS")
			require.Less(t, before, mostAtRest)
			m.takes(before, items, "listed", `find . -type f | wc -l`)
			m.takes(before, items, "looked at", `find . -type f -size -1 -printf '%%p\n' | wc -l`)
			m.takes(before, items, "removed", `rm -rfv [0-9]* | grep -c item`)
			require.Empty(t, m.Must(`ls`))
			m.takes(before, items, "at rest", `echo %d`, items)
		})
	}
}

// takes runs a command that prints how many items it has seen, and measures what the daemon takes then.
func (m *Mount) takes(before, items int, what, command string, args ...any) {
	m.t.Helper()
	begun := time.Now()
	require.Equal(m.t, strconv.Itoa(items), m.Must(command, args...))
	rss := m.memory("VmRSS")
	m.t.Logf("%d items %s: %v, %d KiB resident (%d before)", items, what, time.Since(begun).Round(time.Millisecond), rss/1024, before/1024)
	require.Less(m.t, rss, mostAtRest+heapPerLive*mostPerItem*items)
}
