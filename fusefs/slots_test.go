package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

func testStore(t *testing.T) (*backing.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := backing.Open(dir, backing.Options{Areas: []string{"staging"}})
	require.NoError(t, err)
	require.NoError(t, s.Acquire())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, dir
}

func TestSlotsTellNamesApart(t *testing.T) {
	store, _ := testStore(t)
	s := newSlots(store)
	at := backing.Object{Folder: backing.Control + "/staging/0~0~x", Name: "a"}
	require.True(t, s.free(at.Folder, at.Name))
	require.NoError(t, s.enter(at))
	require.False(t, s.free(at.Folder, at.Name))
	require.True(t, s.free(at.Folder, "b"))
	s.leave(at)
	require.True(t, s.free(at.Folder, at.Name))
}

func TestIdleSlotsAreBounded(t *testing.T) {
	store, dir := testStore(t)
	s := newSlots(store)
	for n := range mostIdleSlots + 10 {
		at := backing.Object{Folder: fmt.Sprintf("%s/staging/0~%d~x", backing.Control, n), Name: "a"}
		require.NoError(t, s.enter(at))
		s.leave(at)
	}
	require.Len(t, folders(t, dir), mostIdleSlots)
	s.dropIdle()
	require.Empty(t, folders(t, dir))
}

func TestSlotInUseIsKept(t *testing.T) {
	store, dir := testStore(t)
	s := newSlots(store)
	at := backing.Object{Folder: backing.Control + "/staging/0~0~x", Name: "a"}
	require.NoError(t, s.enter(at))
	s.leave(at)
	require.NoError(t, s.enter(at))
	s.dropIdle()
	require.Len(t, folders(t, dir), 1)
}

func folders(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, backing.Control, "staging"))
	require.NoError(t, err)
	return all
}
