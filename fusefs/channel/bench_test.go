package channel

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var loops = []struct {
	name  string
	serve func(t testing.TB) (dir string, fs *memFS)
}{
	{"ordered", func(t testing.TB) (string, *memFS) { m := serve(t, Options{}); return m.dir, m.fs }},
	{"library", serveLibrary},
}

// BenchmarkLoop compares the ordered reader with the library's own loop, for
// one client.
func BenchmarkLoop(b *testing.B) {
	for _, operation := range []string{"stat", "openclose", "read4k", "write4k", "read1m", "write1m"} {
		for _, loop := range loops {
			b.Run(operation+"/"+loop.name, func(b *testing.B) {
				dir, _ := loop.serve(b)
				benchClient(b, operation, filepath.Join(dir, "stat-"+operation))
			})
		}
	}
}

func benchClient(b *testing.B, operation, file string) {
	c := startClient(b, "bench", operation, file, strconv.Itoa(b.N))
	require.Equal(b, "ready", c.line(b))
	b.ResetTimer()
	_, err := c.stdin.Write([]byte("\n"))
	require.NoError(b, err)
	nanoseconds, err := strconv.ParseFloat(c.line(b), 64)
	require.NoError(b, err)
	b.StopTimer()
	b.ReportMetric(nanoseconds/float64(b.N), "ns/op")
	c.wait(b)
}

// BenchmarkOrder reports how many of a million looks after a close came before
// that close's RELEASE, with four clients.
func BenchmarkOrder(b *testing.B) {
	for _, loop := range loops {
		b.Run(loop.name, func(b *testing.B) {
			dir, fs := loop.serve(b)
			lookAfterClose(b, dir, b.N)
			b.ReportMetric(float64(fs.misordered.Load())*1e6/float64(fs.probes.Load()), "misordered/1e6")
		})
	}
}
