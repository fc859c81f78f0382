package backing

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// defaultFolders bounds the folder descriptors kept open beside those in use.
const defaultFolders = 512

// Options of a store; the zero value is good.
type Options struct {
	// Trace, if set, gets one line for each call that changes the backing,
	// after the call, from the goroutine that made it. Reading and writing bytes
	// is no change in this sense.
	Trace func(call string)
	// Before, if set, is asked before each call that reaches the disk, reading
	// ones too, from the goroutine that makes it. If it answers an error the
	// call is not made and fails with that, wrapped like the disk's own; only a
	// File is closed all the same. It may take its time. For tests.
	Before func(Call) error
	// Areas are folders that Acquire makes below the control folder.
	Areas []string
	// Look: the store only looks, so its filesystem may be read-only.
	Look bool
	// Folders bounds the folder descriptors kept open; 0 means 512.
	Folders int
}

// Store is one backing folder, by descriptor.
type Store struct {
	path    string // as given to Open, for messages only
	trace   func(call string)
	before  func(Call) error
	areas   []string
	self    identity // whom the daemon acts as
	folders *folders

	control ID   // set by Acquire or Inspect
	lock    int  // descriptor that holds the flock, -1 without
	made    bool // Acquire made the control folder

	gone   atomic.Pointer[GoneError]
	tell   func(error) // set by WatchDisk, as the next
	mounts *mounts
}

// Open opens the backing at path. It must exist, be a folder and be writable, but for Look:
// ErrMissing, ErrNotFolder, ErrNotWritable. A path that ends in a symlink is
// followed, here only. Nothing is created.
func Open(path string, o Options) (*Store, error) {
	root, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	if err := checkRoot(root, path, o.Look); err != nil {
		unix.Close(root)
		return nil, err
	}
	self, err := currentIdentity()
	if err != nil {
		unix.Close(root)
		return nil, err
	}
	if o.Folders == 0 {
		o.Folders = defaultFolders
	}
	return &Store{
		path: path, trace: o.Trace, before: o.Before, areas: o.Areas, self: self,
		folders: newFolders(root, o.Folders), lock: -1,
	}, nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %s: make it first, or check the spelling", ErrMissing, path)
	case errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %s: name the folder that holds the files", ErrNotFolder, path)
	}
	return fmt.Errorf("the backing %s can't be opened: %w: see that all folders above it can be entered, or run as root", path, err)
}

func checkRoot(root int, path string, look bool) error {
	fd, err := openBelow(root, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("%w: openat2(2) answers %w: Linux 5.8 or newer is needed, and no filter that forbids the call", ErrOldKernel, err)
	}
	unix.Close(fd)
	err = access(root, unix.W_OK|unix.X_OK)
	if err != nil && !(look && err == unix.EROFS) {
		return fmt.Errorf("%w: %s: %w: run as its owner, change its mode, or mount its filesystem read-write", ErrNotWritable, path, err)
	}
	return nil
}

// Close gives up the flock and all descriptors of the store; those of open
// Files stay. Calls still under way end normally, later ones answer EBADF.
func (s *Store) Close() error {
	s.folders.close()
	if s.mounts != nil {
		unix.Close(s.mounts.table)
	}
	if s.lock < 0 {
		return nil
	}
	err := unix.Close(s.lock)
	s.lock = -1
	return err
}

// StatFS is statfs(2) of the filesystem the root lies on.
func (s *Store) StatFS() (st unix.Statfs_t, err error) {
	err = s.run(Call{Name: "statfs"}, func() error {
		return s.in("", func(root int) error { return unix.Fstatfs(root, &st) })
	})
	return st, err
}

// Forget drops the descriptors kept of a folder and of all below it. Whoever
// moves or removes a folder says so here, with its old path, before anybody
// uses that path again.
func (s *Store) Forget(folder string) { s.folders.dropTree(folder) }

// in runs one system call relative to a folder. It is repeated when a signal
// interrupts it, and once more when the descriptor kept of the folder turns out
// to belong to a removed one: then somebody may have made the folder anew.
func (s *Store) in(folder string, call func(dir int) error) error {
	dead, err := s.try(folder, call)
	if dead {
		_, err = s.try(folder, call)
	}
	return err
}

func (s *Store) try(path string, call func(dir int) error) (dead bool, err error) {
	f, err := s.folders.get(path)
	if err == unix.ENOENT {
		err = s.orGone(path)
	}
	if err != nil {
		return false, err
	}
	defer s.folders.put(f)
	err = retry(func() error { return call(f.fd) })
	if err == unix.ENOENT && isRemoved(f.fd) {
		s.folders.drop(f)
		return true, s.orGone(path)
	}
	return false, err
}

// inBoth is in for a call on two folders.
func (s *Store) inBoth(from, to string, call func(from, to int) error) error {
	return s.in(from, func(a int) error {
		return s.in(to, func(b int) error { return call(a, b) })
	})
}

// at is in for a call on one name of a folder.
func (s *Store) at(o Object, call func(dir int) error) error {
	if err := checkName(o.Name); err != nil {
		return err
	}
	return s.in(o.Folder, call)
}

// hold gives an O_PATH descriptor of an object, of a symlink itself; the
// caller closes it.
func (s *Store) hold(o Object) (fd int, err error) {
	if o.Name == "" {
		err = s.inFolder(o.Folder, func(dir int) error {
			fd, err = openBelow(dir, ".", unix.O_PATH, 0)
			return err
		})
		return fd, err
	}
	err = s.at(o, func(dir int) error {
		fd, err = openBelow(dir, o.Name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		return err
	})
	return fd, err
}

// inFolder is in for a call on the folder itself. Most of those succeed on a
// removed folder, so that is asked first.
func (s *Store) inFolder(folder string, call func(dir int) error) error {
	return s.in(folder, func(dir int) error {
		if isRemoved(dir) {
			return unix.ENOENT
		}
		return call(dir)
	})
}

// with runs one system call on an O_PATH descriptor of an object.
func (s *Store) with(o Object, call func(fd int) error) error {
	fd, err := s.hold(o)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return retry(func() error { return call(fd) })
}
