package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// openByDescriptor looks with O_PATH, opens what it found by way of /proc/self/fd (as smbd does), writes, and closes after
// a line from its input.
const openByDescriptor = `
import os, sys
path, flags = sys.argv[1], getattr(os, sys.argv[2]) | (os.O_TRUNC if len(sys.argv) > 3 else 0)
look = os.open(path, os.O_PATH)
fd = os.open("/proc/self/fd/%d" % look, flags)
if len(sys.argv) <= 3: assert os.fstat(fd).st_ino == os.fstat(look).st_ino
os.write(fd, b"new")
print(os.fstat(fd).st_size, flush=True)
sys.stdin.readline()
`

func TestI1_WritingByWayOfADescriptorMakesAVersion(t *testing.T) {
	for _, c := range []struct{ flags, meanwhile, after string }{
		{"O_WRONLY", "former", "newmer"},
		{"O_WRONLY trunc", "former", "new"},
		{"O_RDWR", "", "newmer"}, // it claims, too
		{"O_RDWR trunc", "former", "new"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			m := mount(t)
			m.Must("printf former > f")
			p := m.Start("exec python3 -c %s f %s", quote(openByDescriptor), c.flags)
			m.Until("it has written", func() bool { return m.written("f") })
			require.Equal(t, c.meanwhile, m.Run("cat f 2> /dev/null").Out)
			p.Say()
			require.Zero(t, p.Wait().Code, p.Wait().Out)
			require.Equal(t, c.after, m.Must("cat f"))
		})
	}
}

// written tells whether an unfinished version of a name has got bytes.
func (m *Mount) written(path string) bool {
	for _, i := range m.Status()[path] {
		if i.State == "staged" && i.Size > 0 {
			return true
		}
	}
	return false
}
