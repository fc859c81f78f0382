package backing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// lacking gives the features a backing lacks, each with its sentence.
func lacking(t *testing.T, s *Store) (features []string) {
	for _, lack := range s.Probe() {
		assert.Regexp(t, `^[A-Z].*\.$`, lack.Meaning)
		features = append(features, lack.Feature)
	}
	return features
}

func TestProbe(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		lacks := lacking(t, s)
		for _, feature := range []string{"tmpfile", "noreplace", "exchange", "hardlinks", "birthtime", "leases"} {
			assert.NotContains(t, lacks, feature)
		}
		assert.Equal(t, []string{formatName, "staging"}, names(t, s, Control), "nothing is left")
	})
}

func TestProbeTmpfs(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	assert.Equal(t, []string{"reflink"}, lacking(t, s))
}

// ramfs has neither attributes nor birth times, and reserves no space.
func TestProbeRamfs(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	mount(t, "ramfs", dir)
	s := acquired(t, dir, Options{})
	assert.Equal(t, []string{"xattr", "birthtime", "fallocate", "reflink"}, lacking(t, s))
	write(t, filepath.Join(dir, "in", "f"), "")
	note, err := s.Note(Object{"in", "f"})
	require.NoError(t, err)
	assert.Nil(t, note)
	assert.ErrorIs(t, s.SetNote(Object{"in", "f"}, []byte("n")), unix.EOPNOTSUPP)
	require.NoError(t, s.ClearNote(Object{"in", "f"}))
	assert.Zero(t, stat(t, s, Object{"in", "f"}).Born)
}

func TestProbeAfterCrashedProbe(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{})
	require.NoError(t, os.Mkdir(filepath.Join(dir, Control, scratch), 0o700))
	write(t, filepath.Join(dir, Control, scratch, "a"), "left")
	assert.Equal(t, []string{"reflink"}, lacking(t, s))
}

func TestProbeWithoutControl(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, []string{"probe"}, lacking(t, s))
}
