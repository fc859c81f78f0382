package backing

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// calls has one use of each method that reaches the disk, each good by itself on what prepared makes.
var calls = map[string]func(s *Store, f *File) error{
	"Store.Chmod":            func(s *Store, _ *File) error { return s.Chmod(Object{"in", "a"}, 0o600) },
	"Store.Chown":            func(s *Store, _ *File) error { return s.Chown(Object{"in", "a"}, 1, 1) },
	"Store.ClearNote":        func(s *Store, _ *File) error { return s.ClearNote(Object{"in", "a"}) },
	"Store.Create":           func(s *Store, _ *File) error { return closing(s.Create(Object{"in", "new"}, "in", 0o600, 0, 0)) },
	"Store.CreateInPlace":    func(s *Store, _ *File) error { return closing(s.CreateInPlace(Object{"in", "new"}, 0, 0o600, 0, 0)) },
	"Store.CreateNameless":   func(s *Store, _ *File) error { return closing(s.CreateNameless("in", 0o600, 0, 0)) },
	"Store.GetXattr":         func(s *Store, _ *File) error { _, err := s.GetXattr(Object{"in", "a"}, "user.x", nil); return err },
	"Store.Inherit":          func(s *Store, f *File) error { return s.Inherit(f, Object{"in", "b"}, 0o600) },
	"Store.Inspect":          func(s *Store, _ *File) error { return s.Inspect() },
	"Store.Link":             func(s *Store, _ *File) error { return s.Link(Object{"in", "a"}, Object{"in", "new"}) },
	"Store.List":             func(s *Store, _ *File) error { return s.List("in", func(Entry) error { return nil }) },
	"Store.ListXattr":        func(s *Store, _ *File) error { _, err := s.ListXattr(Object{"in", "a"}, nil); return err },
	"Store.MakePrivate":      func(s *Store, _ *File) error { return s.MakePrivate(staging + "/new") },
	"Store.Mkdir":            func(s *Store, _ *File) error { return s.Mkdir(Object{"in", "new"}, 0o700, 0, 0) },
	"Store.Mknod":            func(s *Store, _ *File) error { return s.Mknod(Object{"in", "new"}, unix.S_IFIFO|0o600, 0, 0, 0) },
	"Store.Move":             func(s *Store, _ *File) error { return s.Move(Object{"in", "a"}, Object{"in", "b"}, Replace) },
	"Store.Note":             func(s *Store, _ *File) error { _, err := s.Note(Object{"in", "a"}); return err },
	"Store.Open":             func(s *Store, _ *File) error { return opening(s.Open(Object{"in", "a"}, unix.O_RDWR|unix.O_TRUNC)) },
	"Store.Readlink":         func(s *Store, _ *File) error { _, err := s.Readlink(Object{"in", "l"}); return err },
	"Store.Remove":           func(s *Store, _ *File) error { return s.Remove(Object{"in", "a"}) },
	"Store.RemoveXattr":      func(s *Store, _ *File) error { return s.RemoveXattr(Object{"in", "a"}, "user.x") },
	"Store.Rmdir":            func(s *Store, _ *File) error { return s.Rmdir(Object{"in", "d"}) },
	"Store.SetNote":          func(s *Store, _ *File) error { return s.SetNote(Object{"in", "a"}, []byte("n")) },
	"Store.SetXattr":         func(s *Store, _ *File) error { return s.SetXattr(Object{"in", "a"}, "user.x", []byte("2"), 0) },
	"Store.Stat":             func(s *Store, _ *File) error { _, err := s.Stat(Object{"in", "a"}); return err },
	"Store.StatFS":           func(s *Store, _ *File) error { _, err := s.StatFS(); return err },
	"Store.Symlink":          func(s *Store, _ *File) error { return s.Symlink("to", Object{"in", "new"}, 0, 0) },
	"Store.SymlinkOwn":       func(s *Store, _ *File) error { return s.SymlinkOwn("to", Object{"in", "new"}) },
	"Store.SyncFolder":       func(s *Store, _ *File) error { return s.SyncFolder("in") },
	"Store.Truncate":         func(s *Store, _ *File) error { return s.Truncate(Object{"in", "a"}, 1) },
	"Store.Utimens":          func(s *Store, _ *File) error { return s.Utimens(Object{"in", "a"}, nil, &unix.Timespec{}) },
	"Store.OpenFolder":       func(s *Store, _ *File) error { d, err := s.OpenFolder("in"); return closingFolder(d, err) },
	"Store.WrittenElsewhere": func(s *Store, _ *File) error { _, err := s.WrittenElsewhere(Object{"in", "b"}); return err },
	"Store.Acquire": func(s *Store, _ *File) error {
		err := errors.Join(unix.Close(s.lock), unix.Close(s.folders.control), os.RemoveAll(s.path+"/"+Control))
		s.lock, s.folders.control = -1, -1
		return errors.Join(err, s.Acquire())
	},
	"Store.May": func(s *Store, _ *File) error {
		_, err := s.May("in", 1, 1, nil, unix.X_OK)
		return err
	},
	"File.Flock":     func(_ *Store, f *File) error { return f.Flock(unix.LOCK_SH) },
	"File.LockRange": func(_ *Store, f *File) error { return f.LockRange(unix.F_RDLCK, 3, 5) },
	"Store.MayFile": func(s *Store, _ *File) error {
		_, err := s.MayFile(Object{"in", "f"}, 1, 1, nil, unix.W_OK)
		return err
	},
	"Store.Probe": func(s *Store, _ *File) error {
		if lacks := s.Probe(); len(lacks) > 0 && lacks[0].Feature == "probe" {
			return unix.EIO
		}
		return nil
	},
	"Store.LinkFile": func(s *Store, _ *File) error {
		f, err := s.CreateNameless("in", 0o600, 0, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return s.LinkFile(f, Object{"in", "new"})
	},
	"Store.Withdraw": func(s *Store, _ *File) error {
		s.made = true
		return s.Withdraw()
	},

	"Folder.Sync": func(s *Store, _ *File) error {
		d, err := s.OpenFolder("in")
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Sync()
	},

	"File.Allocate":    func(_ *Store, f *File) error { return f.Allocate(0, 0, 10) },
	"File.Chmod":       func(_ *Store, f *File) error { return f.Chmod(0o600) },
	"File.Chown":       func(_ *Store, f *File) error { return f.Chown(1, 1) },
	"File.CopyFrom":    func(s *Store, f *File) error { return f.CopyFrom(f, 0) },
	"File.Datasync":    func(_ *Store, f *File) error { return f.Datasync() },
	"File.GetXattr":    func(_ *Store, f *File) error { _, err := f.GetXattr("user.x", nil); return err },
	"File.ListXattr":   func(_ *Store, f *File) error { _, err := f.ListXattr(nil); return err },
	"File.ReadAt":      func(_ *Store, f *File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
	"File.RemoveXattr": func(_ *Store, f *File) error { return f.RemoveXattr("user.x") },
	"File.Reopen":      func(_ *Store, f *File) error { return closing(f.Reopen(unix.O_RDONLY)) },
	"File.SeekHole":    func(_ *Store, f *File) error { _, err := f.SeekHole(0, unix.SEEK_HOLE); return err },
	"File.SetNote":     func(_ *Store, f *File) error { return f.SetNote([]byte("n")) },
	"File.SetXattr":    func(_ *Store, f *File) error { return f.SetXattr("user.x", []byte("2"), 0) },
	"File.Stat2":       func(_ *Store, f *File) error { _, err := f.Stat2(); return err },
	"File.Sync":        func(_ *Store, f *File) error { return f.Sync() },
	"File.Truncate":    func(_ *Store, f *File) error { return f.Truncate(1) },
	"File.Utimens":     func(_ *Store, f *File) error { return f.Utimens(nil, &unix.Timespec{}) },
	"File.WrittenElsewhere": func(s *Store, _ *File) error {
		f, _, err := s.Open(Object{"in", "b"}, unix.O_RDONLY)
		if err != nil {
			return err
		}
		_, err = f.WrittenElsewhere()
		return errors.Join(err, f.Close())
	},
	"File.Write":   func(_ *Store, f *File) error { _, err := f.Write([]byte("x")); return err },
	"File.WriteAt": func(_ *Store, f *File) error { _, err := f.WriteAt([]byte("x"), 0); return err },
}

// unasked are the methods that reach no disk, or are called all the same.
var unasked = []string{"File.Close", "Folder.Close", "Store.Close", "Store.ControlID", "Store.Forget", "Store.Gone", "Store.WatchDisk"}

func closing(f *File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

func closingFolder(d *Folder, err error) error {
	if err == nil {
		d.Close()
	}
	return err
}

func opening(f *File, _ Stat, err error) error { return closing(f, err) }

// prepared is a store with something to call upon, and who is asked before each call; nobody is asked while it is made.
func prepared(t *testing.T, before *func(Call) error) (*Store, *File) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{Before: func(c Call) error { return (*before)(c) }})
	for _, name := range []string{"a", "b"} {
		f, err := s.CreateInPlace(Object{"in", name}, unix.O_RDWR, 0o644, 0, 0)
		require.NoError(t, err)
		_, err = f.Write([]byte(name))
		require.NoError(t, err)
		require.NoError(t, f.SetXattr("user.x", []byte("1"), 0))
		require.NoError(t, s.SetNote(Object{"in", name}, []byte("note")))
		require.NoError(t, f.Close())
	}
	require.NoError(t, s.Symlink("to", Object{"in", "l"}, 0, 0))
	require.NoError(t, s.Mkdir(Object{"in", "d"}, 0o755, 0, 0))
	require.NoError(t, s.Rmdir(Object{Control, "staging"}), "what Withdraw finds is as a failed mount leaves it")
	require.NoError(t, s.MakePrivate(staging))
	f, _, err := s.Open(Object{"in", "a"}, unix.O_RDWR)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return s, f
}

func methods() (names []string) {
	for _, of := range []any{&Store{}, &File{}, &Folder{}} {
		for m := range reflect.TypeOf(of).Methods() {
			names = append(names, reflect.TypeOf(of).Elem().Name()+"."+m.Name)
		}
	}
	return names
}

func TestBeforeIsAskedOfEveryCall(t *testing.T) {
	for _, name := range methods() {
		call := calls[name]
		if slices.Contains(unasked, name) {
			continue
		}
		require.NotNil(t, call, "a method that nobody is asked about: %s", name)
		t.Run(name, func(t *testing.T) { refuseEach(t, call) })
	}
}

// refuseEach refuses the first call that a use makes, then the second one, … until it makes no more.
func refuseEach(t *testing.T, use func(*Store, *File) error) {
	for n := 1; ; n++ {
		asked, refused := 0, Call{}
		nobody := func(Call) error { return nil }
		before := nobody
		s, f := prepared(t, &before)
		before = func(c Call) error {
			if asked++; asked != n {
				return nil
			}
			refused = c
			return unix.EIO
		}
		err := use(s, f)
		before = nobody
		if asked < n {
			require.NoError(t, err)
			require.Greater(t, n, 1, "nobody was asked")
			return
		}
		if refused.Name != "close" { // it is often too late for what matters
			assert.ErrorIs(t, err, unix.EIO, "call %d: %s", n, refused)
		}
	}
}

func TestACallRefusedByBeforeIsNotMade(t *testing.T) {
	var lines []string
	refuse := func(c Call) error {
		if c.Changes {
			return unix.EDQUOT
		}
		return nil
	}
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	f, err := s.CreateInPlace(Object{"in", "a"}, unix.O_RDWR, 0o644, 0, 0)
	require.NoError(t, err)
	s.before, s.trace = refuse, func(line string) { lines = append(lines, line) }
	_, err = f.WriteAt([]byte("x"), 0)
	assert.EqualError(t, err, "write in/a: disk quota exceeded")
	err = s.Move(Object{"in", "a"}, Object{"in", "b"}, NoReplace)
	assert.EqualError(t, err, "rename in/a in/b: disk quota exceeded")
	assert.Zero(t, stat(t, s, Object{"in", "a"}).Size)
	assert.Equal(t, []string{"rename in/a → in/b (noreplace): disk quota exceeded"}, lines)
	s.before = func(c Call) error { return errors.New(c.Name) }
	assert.EqualError(t, f.Close(), "close in/a: close")
	assert.Error(t, f.Sync(), "it is closed all the same")
}

func TestACallSaysWhatItIs(t *testing.T) {
	var asked []string
	before := func(c Call) error { asked = append(asked, c.String()); return nil }
	s, f := prepared(t, &before)
	asked = nil
	_, err := f.WriteAt([]byte("text"), 1)
	require.NoError(t, err)
	require.NoError(t, s.Link(Object{"in", "b"}, Object{"in", "new\n"}))
	_, err = s.Note(Object{"in", "b"})
	require.NoError(t, err)
	assert.Equal(t, `write in/a (4 at 1)
link in/b → "in/new\n"
read note in/b`, strings.Join(asked, "\n"))
}
