package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

func TestNumberedNamesFitIntoAFolder(t *testing.T) {
	assert.Equal(t, "f.1", numbered("f", 1))
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("ä", 127), "x" + strings.Repeat("ä", 127), strings.Repeat("😀", 63)} {
		for _, n := range []int{1, 10, 123, mostNumbered} {
			got := numbered(name, n)
			assert.LessOrEqual(t, len(got), 255)
			assert.Greater(t, len(got), 250, "no more is cut off than must be")
			assert.True(t, utf8.ValidString(got), "%q", got)
			stem, ok := strings.CutSuffix(got, fmt.Sprintf(".%d", n))
			assert.True(t, ok, "%q", got)
			assert.True(t, strings.HasPrefix(name, stem), "%q", got)
		}
	}
	assert.Equal(t, strings.Repeat("\x80", 253)+".1", numbered(strings.Repeat("\x80", 255), 1), "no UTF-8: cut where it must be")
}

// archived is a desk with an archive, and what is in that.
func archived(t *testing.T, before func(backing.Call) error, names ...string) *worker {
	d, dir := watchedDesk(t, before, "done/**=archive")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "done"), 0o700))
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "done", name), nil, 0o600))
	}
	return newWorker(t, d)
}

func (w *worker) freeInArchive(name string) (string, error) {
	id, _ := w.split("done/f")
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	folder, err := w.d.folderLocked(id)
	require.NoError(w.t, err)
	f, err := w.d.freeFileLocked(folder, name)
	if err != nil {
		return "", err
	}
	return f.Name.Name, nil
}

// Looks are made under the lock: a thousand files of one name must not cost a thousand of them.
func TestAFreeNameIsFoundInFewLooks(t *testing.T) {
	var taken []string
	for n := range 1000 {
		taken = append(taken, fmt.Sprintf("f.%d", n+1))
	}
	looks := 0
	w := archived(t, func(c backing.Call) error {
		if c.Name == "stat" && strings.HasPrefix(c.Object.Name, "f.") {
			looks++
		}
		return nil
	}, taken...)
	name, err := w.freeInArchive("f")
	require.NoError(t, err)
	require.Equal(t, "f.1001", name)
	require.NotZero(t, looks)
	require.Less(t, looks, 25)
	name, err = w.freeInArchive("g")
	require.NoError(t, err)
	require.Equal(t, "g.1", name)
}

// Whatever the disk goes on answering ends the search.
func TestLookingForAFreeNameEnds(t *testing.T) {
	for _, lasting := range []syscall.Errno{syscall.ENAMETOOLONG, syscall.EIO, syscall.EACCES, syscall.ELOOP, syscall.ENOTDIR} {
		w := archived(t, func(c backing.Call) error {
			if c.Name == "stat" && strings.HasPrefix(c.Object.Name, "f.") {
				return lasting
			}
			return nil
		}, "f")
		w.file("f")
		require.ErrorIs(t, w.rename("f", "done/f"), lasting)
		require.NoError(t, w.rename("f", "done/g"), "nobody holds the lock")
	}
}
