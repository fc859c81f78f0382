package backing

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestFolderRemovedAndMadeAnew(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		in := filepath.Join(dir, "in")
		calls := map[string]func() error{
			"stat":        func() error { _, err := s.Stat(Object{"in", "f"}); return err },
			"stat folder": func() error { _, err := s.Stat(Object{"in", ""}); return err },
			"list":        func() error { return s.List("in", func(Entry) error { return nil }) },
			"fsync":       func() error { return s.SyncFolder("in") },
			"chmod":       func() error { return s.Chmod(Object{"in", ""}, 0o755) },
			"link":        func() error { return s.Link(Object{"in", "f"}, Object{"in", "g"}) },
			"create":      func() error { return made(s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)) },
			"in place":    func() error { return made(s.CreateInPlace(Object{"in", "n"}, unix.O_RDWR, 0o644, 0, 0)) },
		}
		for name, call := range calls {
			stat(t, s, Object{"in", ""})
			require.NoError(t, os.RemoveAll(in))
			assert.ErrorIs(t, call(), syscall.ENOENT, name)
			require.NoError(t, os.Mkdir(in, 0o755))
			stat(t, s, Object{"in", ""})
			require.NoError(t, os.RemoveAll(in))
			require.NoError(t, os.Mkdir(in, 0o755))
			write(t, filepath.Join(in, "f"), "")
			assert.NoError(t, call(), name)
		}
	})
}

func made(f *File, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

func TestForgetAfterMove(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "in", "sub"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "in2"), 0o755))
		for _, folder := range []string{"in", "in/sub", "in2"} {
			stat(t, s, Object{folder, ""})
		}
		require.NoError(t, s.Move(Object{Name: "in"}, Object{Name: "out"}, NoReplace))
		s.Forget("in")
		_, err := s.Stat(Object{"in/sub", ""})
		assert.ErrorIs(t, err, syscall.ENOENT)
		_, err = s.Stat(Object{"in", ""})
		assert.ErrorIs(t, err, syscall.ENOENT)
		assert.NotNil(t, s.folders.byPath["in2"], "a neighbour whose name begins alike is kept")
		stat(t, s, Object{"out/sub", ""})
	})
}

func TestFoldersAreBounded(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{Folders: 4})
	for i := range 40 {
		name := numbered("d", i)
		require.NoError(t, s.Mkdir(Object{Name: name}, 0o755, 0, 0))
		stat(t, s, Object{name, ""})
	}
	assert.Len(t, descriptorsBelow(t, dir), 4+3, "the cache, the root, the control folder, its lock")
	assert.Equal(t, "d39", s.folders.recent.Front().Value.(*folder).path)
}

func TestFolderInUseStaysOpen(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{Folders: 1})
	f, err := s.folders.get("in")
	require.NoError(t, err)
	stat(t, s, Object{staging, ""})
	require.Nil(t, s.folders.byPath["in"], "evicted")
	again, err := s.folders.get("in")
	require.NoError(t, err)
	assert.NotEqual(t, f.fd, again.fd)
	s.folders.put(again)
	st, err := statOf(f.fd)
	require.NoError(t, err)
	assert.Equal(t, stat(t, s, Object{"in", ""}).ID, st.ID)
	s.folders.put(f)
	assert.Len(t, descriptorsBelow(t, dir), 1+3)
}

// A folder opened before a Forget must not enter the cache after it.
func TestForgetDuringOpen(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{})
	_, forgets, err := s.folders.cached("in")
	require.NoError(t, err)
	fd, err := openFolder(s.folders.root.fd, "in")
	require.NoError(t, err)
	s.Forget("in")
	f := s.folders.install(&folder{path: "in", fd: fd, users: 1}, forgets)
	assert.Nil(t, s.folders.byPath["in"])
	s.folders.put(f)
	s.folders.put(s.folders.root)
}

func TestConcurrentUse(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	s := acquired(t, dir, Options{Folders: 2})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			name := numbered("w", worker)
			for range 50 {
				assert.NoError(t, churn(s, name))
			}
		})
	}
	all.Wait()
	assert.Empty(t, names(t, s, "in"))
	assert.Empty(t, names(t, s, staging))
}

// churn takes a folder and a file through a life, under names of its own.
func churn(s *Store, name string) error {
	key, own, moved := Object{staging, name}, Object{"in", name}, Object{"in", name + "-moved"}
	steps := []func() error{
		func() error { return s.Mkdir(own, 0o755, 1001, 1001) },
		func() error { return made(s.Create(key, "in/"+name, 0o644, 1001, 1001)) },
		func() error { return s.Move(key, Object{"in/" + name, "f"}, NoReplace) },
		func() error { err := s.Move(own, moved, NoReplace); s.Forget("in/" + name); return err },
		func() error { _, err := s.Stat(Object{"in/" + moved.Name, "f"}); return err },
		func() error { return s.Remove(Object{"in/" + moved.Name, "f"}) },
		func() error { return s.Rmdir(moved) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
