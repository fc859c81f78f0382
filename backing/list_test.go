package backing

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// More names than one getdents64 buffer holds.
func TestListAll(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		want := map[string]bool{}
		for i := range 3000 {
			name := numbered("a-rather-long-name-", i)
			write(t, filepath.Join(dir, "in", name), "")
			want[name] = true
		}
		for _, name := range names(t, s, "in") {
			assert.True(t, want[name], name)
			delete(want, name)
		}
		assert.Empty(t, want)
	})
}

func TestListTypesAndInodes(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		in := filepath.Join(dir, "in")
		write(t, filepath.Join(in, "f"), "")
		require.NoError(t, os.Mkdir(filepath.Join(in, "d"), 0o755))
		require.NoError(t, os.Symlink("f", filepath.Join(in, "l")))
		got := map[string]uint8{}
		require.NoError(t, s.List("in", func(e Entry) error {
			got[e.Name] = e.Type
			assert.Equal(t, stat(t, s, Object{"in", e.Name}).Ino, e.Ino)
			return nil
		}))
		assert.Equal(t, map[string]uint8{"f": unix.DT_REG, "d": unix.DT_DIR, "l": unix.DT_LNK}, got)
	})
}

func TestListEnds(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "")
		write(t, filepath.Join(dir, "in", "g"), "")
		enough, calls := errors.New("enough"), 0
		err := s.List("in", func(Entry) error { calls++; return enough })
		assert.Same(t, enough, err)
		assert.Equal(t, 1, calls)
		assert.ErrorIs(t, s.List("in/f", func(Entry) error { return nil }), syscall.ENOTDIR)
		assert.Contains(t, names(t, s, ""), Control)
	})
}

// dirent is a record as the kernel writes it.
func dirent(ino uint64, kind uint8, name string) []byte {
	size := (nameAt + len(name) + 1 + 7) &^ 7
	b := make([]byte, size)
	binary.NativeEndian.PutUint64(b, ino)
	binary.NativeEndian.PutUint16(b[reclenAt:], uint16(size))
	b[typeAt] = kind
	copy(b[nameAt:], name)
	return b
}

func TestParseEntriesRefusesMalformed(t *testing.T) {
	none := func(Entry) error { return errors.New("called") }
	whole := dirent(1, unix.DT_REG, "name")
	short := append([]byte(nil), whole...)
	short[reclenAt] = nameAt
	tiny := append([]byte(nil), whole...)
	tiny[reclenAt] = 5
	unended := append([]byte(nil), whole...)
	copy(unended[nameAt:], strings.Repeat("x", len(unended)-nameAt))
	for _, buf := range [][]byte{whole[:10], whole[:len(whole)-1], short, tiny, unended} {
		assert.ErrorIs(t, parseEntries(buf, none), errDirent)
	}
}

func FuzzParseEntries(f *testing.F) {
	f.Add(append(dirent(7, unix.DT_REG, "name"), dirent(8, unix.DT_DIR, "..")...))
	f.Add(dirent(9, unix.DT_LNK, strings.Repeat("n", 255)))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, buf []byte) {
		var rebuilt int
		err := parseEntries(buf, func(e Entry) error {
			rebuilt += len(dirent(e.Ino, e.Type, e.Name))
			if e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "\x00") {
				t.Errorf("impossible name %q", e.Name)
			}
			return nil
		})
		if err == nil && rebuilt > len(buf)+7*(len(buf)/nameAt) {
			t.Errorf("%d bytes of entries from %d", rebuilt, len(buf))
		}
	})
}

func FuzzCheckFolder(f *testing.F) {
	for _, path := range []string{"", "in", "in/sub", "in/..", "/in", "in//x", "in/", ".", "\x00"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if checkFolder(path) != nil || path == "" {
			return
		}
		if clean := filepath.Clean(path); clean != path || !filepath.IsLocal(path) || strings.Contains(path, "\x00") {
			t.Errorf("%q passed, clean is %q", path, clean)
		}
	})
}
