package tests

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// requestsOf is how often the kernel has asked for something.
func (m *Mount) requestsOf(opcode string) (n int) {
	m.t.Helper()
	all := map[string]int{}
	require.NoError(m.t, json.Unmarshal([]byte(m.Must("cat .airlockfs/requests")), &all))
	return all[opcode]
}

// TestI3_ALockOfRecordsWaitsForTheWritesUnderWay on a slow disk: who has got it finds nothing changed behind its back.
func TestI3_ALockOfRecordsWaitsForTheWritesUnderWay(t *testing.T) {
	m := mountFailing(t, "write@r/f:delay=500ms:*", "--rule", "r/**=records")
	m.Must("mkdir r; truncate -s 100 r/f")
	letThrough := 0
	for _, take := range []string{"lock f posix w 10 10", "lock f posix R 10 10", "flock f ex"} {
		holder, other := m.Client(), m.Client()
		holder.OK("open f r/f rw")
		other.OK("open g r/f rw", "ftruncate g 0", "ftruncate g 100")
		before := m.requestsOf("WRITE")
		other.Begin("pwrite", "g", 12, "x")
		m.Until("it is being written", func() bool { return m.requestsOf("WRITE") > before })
		holder.OK(take)
		found := holder.Call("pread", "f", 12, 1)
		if ended := other.End(); ended == "" {
			letThrough++
			require.Equal(t, "x", found, "%s: the write that was let through has ended", take)
		} else {
			require.Equal(t, "EBUSY \x00", ended+" "+found, "the lock was faster")
		}
		require.Equal(t, "EBUSY", other.Call("pwrite", "g", 12, "y"))
		holder.Kill()
		other.Kill()
	}
	require.NotZero(t, letThrough)
}
