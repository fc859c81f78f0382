package backing

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// golden runs a scene on a store and compares its trace with testdata.
func golden(t *testing.T, name string, scene func(t *testing.T, s *Store)) {
	var lines []string
	s := acquired(t, folderIn(t, "/dev/shm"), Options{Trace: func(call string) { lines = append(lines, call) }})
	if name != "acquire" {
		lines = nil
	}
	scene(t, s)
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".trace")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	assert.Equal(t, read(t, path), got)
}

func TestTraceAcquire(t *testing.T) {
	golden(t, "acquire", func(t *testing.T, s *Store) {
		require.NoError(t, s.Inspect())
		require.NotEmpty(t, s.Probe())
	})
}

func TestTraceHandOff(t *testing.T) {
	golden(t, "handoff", func(t *testing.T, s *Store) {
		key, name := Object{staging, "k"}, Object{"in", "a"}
		f, err := s.Create(key, "in", 0o644, 1001, 1001)
		require.NoError(t, err)
		_, err = f.Write([]byte("bytes"))
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.NoError(t, s.SetNote(key, []byte("note")))
		require.NoError(t, s.Move(key, name, NoReplace))
		require.NoError(t, s.SyncFolder("in"))
		closeAll(t, f)
		stat(t, s, name)
		require.Error(t, s.Move(key, name, NoReplace))
		require.NoError(t, s.ClearNote(name))
		require.NoError(t, s.Remove(name))
	})
}

func TestTraceEveryCall(t *testing.T) {
	golden(t, "calls", func(t *testing.T, s *Store) {
		a, b := Object{"in", "a"}, Object{"in", "new\nline"}
		f, err := s.CreateInPlace(a, unix.O_RDWR, 0o644, 0, 0)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(10))
		require.NoError(t, f.Allocate(0, 0, 10))
		require.NoError(t, f.Datasync())
		require.NoError(t, s.Link(a, b))
		require.NoError(t, s.Move(a, b, Exchange))
		require.NoError(t, s.Mkdir(Object{"in", "d"}, 0o755, 0, 0))
		require.NoError(t, s.Symlink("to", Object{"in", "l"}, 0, 0))
		require.NoError(t, s.Chmod(a, 0o600))
		require.NoError(t, s.Chown(a, 1, -1))
		require.NoError(t, s.Truncate(a, 0))
		g, _, err := s.Open(a, unix.O_RDWR|unix.O_TRUNC)
		require.NoError(t, err)
		nameless, err := s.CreateNameless("in", 0o600, 0, 0)
		require.NoError(t, err)
		require.NoError(t, nameless.CopyFrom(g, 0))
		require.NoError(t, s.LinkFile(nameless, Object{Name: "top"}))
		require.NoError(t, s.Rmdir(Object{"in", "d"}))
		closeAll(t, f, g, nameless)
	})
}
