package channel

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lookAfterClose runs four clients which open, close and look, beside one that
// reads and one that writes.
func lookAfterClose(t testing.TB, dir string, rounds int) {
	var clients []*client
	for i := range 4 {
		file := filepath.Join(dir, "order"+strconv.Itoa(i))
		clients = append(clients, startClient(t, "order", file, strconv.Itoa(max(rounds/4, 1))))
	}
	for _, load := range []string{"read4k", "write4k"} {
		c := startClient(t, "bench", load, filepath.Join(dir, load), strconv.Itoa(rounds/4))
		_, _ = c.stdin.Write([]byte("\n"))
		clients = append(clients, c)
	}
	for _, c := range clients {
		c.wait(t)
	}
}

func TestLookupAfterCloseSeesTheRelease(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	m := serve(t, Options{})
	lookAfterClose(t, m.dir, rounds)
	assert.EqualValues(t, rounds, m.fs.probes.Load())
	assert.Zero(t, m.fs.misordered.Load(), "of %d looks", rounds)
}
