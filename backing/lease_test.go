package backing

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrittenElsewhere(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		path, o := filepath.Join(dir, "in", "f"), Object{"in", "f"}
		write(t, path, "")
		f, _, err := s.Open(o, os.O_RDONLY)
		require.NoError(t, err)
		defer f.Close()
		written := func() bool {
			yes, err := s.WrittenElsewhere(o)
			require.NoError(t, err)
			again, err := f.WrittenElsewhere()
			require.NoError(t, err)
			require.Equal(t, yes, again)
			return yes
		}
		assert.False(t, written())
		reader, err := os.Open(path)
		require.NoError(t, err)
		defer reader.Close()
		assert.False(t, written())
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		assert.True(t, written())
		require.NoError(t, writer.Close())
		assert.False(t, written())
		writer, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		require.NoError(t, err, "no lease is left behind")
		require.NoError(t, writer.Close())
		_, err = s.WrittenElsewhere(Object{"in", "none"})
		assert.ErrorIs(t, err, syscall.ENOENT)
		yes, err := s.WrittenElsewhere(Object{Name: "in"})
		require.NoError(t, err)
		assert.False(t, yes)
	})
}
