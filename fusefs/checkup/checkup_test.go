package checkup

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

func TestHealthyBackingHasNoFindings(t *testing.T) {
	d := newDisk(t)
	assert.Empty(t, d.check(false))
	assert.Empty(t, d.check(true))
}

func TestEveryKindHasACorruption(t *testing.T) {
	for name := range kinds {
		assert.Contains(t, corruptions, name)
	}
}

// also are findings that a corruption brings along.
var also = map[string][]string{
	"tokens-stray":      {"tokens-stray"}, // several
	"place-folder-gone": {"registry-missing", "place-folder-gone", "held-alone", "replaced-unknown-key"},
}

func TestCorruptionsAreFound(t *testing.T) {
	for name, corrupt := range corruptions {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			where := path.Clean(corrupt(d))
			findings := d.check(false)
			found := false
			for _, f := range findings {
				if f.Kind == name && f.Where == where {
					found = true
					assert.Equal(t, kinds[name].problem, f.Problem)
					assertSentence(t, f)
				} else {
					assert.Contains(t, also[name], f.Kind, "%+v", f)
				}
			}
			assert.True(t, found, "not found at %s: %+v", where, findings)
		})
	}
}

// assertSentence: a finding is printed as "WHERE: WHAT. DO."
func assertSentence(t *testing.T, f report.Finding) {
	assert.NotEmpty(t, f.What)
	assert.False(t, strings.HasSuffix(f.What, ".") || strings.HasSuffix(f.Do, "."), "%+v", f)
}

func TestTransientStatesOfAServedBackingAreFine(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			corrupt := corruptions[name]
			corrupt(d)
			var names []string
			for _, f := range d.check(true) {
				names = append(names, f.Kind)
			}
			if k.transient {
				assert.NotContains(t, names, name)
			} else {
				assert.Contains(t, names, name)
			}
		})
	}
}

func TestCheckChangesNothing(t *testing.T) {
	d := newDisk(t)
	before := snapshot(t, d.dir)
	d.check(false)
	assert.Equal(t, before, snapshot(t, d.dir))
}

func TestAReadOnlyBackingIsChecked(t *testing.T) {
	d := newDisk(t)
	require.NoError(t, unix.Mount(d.dir, d.dir, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(d.dir, unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", d.dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	require.Empty(t, d.check(false))
}

func snapshot(t *testing.T, dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		paths = append(paths, e.Name()+" "+info.Mode().String()+" "+info.ModTime().String())
		if e.IsDir() {
			paths = append(paths, snapshot(t, dir+"/"+e.Name())...)
		}
	}
	return paths
}

func TestWithoutControlFolder(t *testing.T) {
	s, err := backing.Open(t.TempDir(), backing.Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = Run(s, facts(false))
	assert.ErrorIs(t, err, backing.ErrNoControl)
}

func TestSecondNameOfAClaimedFileIsFine(t *testing.T) {
	d := newDisk(t)
	d.hardlink(dirOf(place(protocol.Claimed, "1"))+"/c", "in/another name")
	assert.Empty(t, d.check(false))
}

func TestNamesThatAreNotUTF8KeepTheirBytes(t *testing.T) {
	d := newDisk(t)
	d.note(d.file("in/\xff"), "{")
	findings := d.check(false)
	require.Len(t, findings, 1)
	assert.Equal(t, []byte("in/\xff"), findings[0].Raw)
}

// Whatever a registry entry says, it is read as a path that stays in the backing or not at all.
func FuzzStaysBelow(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "../a", "/a", "a//b", ".", "", ".airlockfs/x", "a/.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if !staysBelow(p) {
			return
		}
		assert.Equal(t, path.Clean(p), p)
		assert.False(t, path.IsAbs(p))
		assert.NotEqual(t, "..", strings.Split(p, "/")[0])
	})
}

func FuzzIsReplaced(f *testing.F) {
	for _, seed := range []string{"1~1", "1~z", "~", "1", "x~1", "1~Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if isReplaced(name) {
			assert.Equal(t, 1, strings.Count(name, "~"))
		}
	})
}
