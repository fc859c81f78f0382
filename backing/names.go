package backing

import (
	"path"

	"golang.org/x/sys/unix"
)

// How a move treats its target.
type How uint8

// The flags of renameat2(2).
const (
	Replace   How = iota // what is there goes, in the same step
	NoReplace            // EEXIST if anything is there
	Exchange             // both must exist and change places
)

func (h How) flags() uint {
	return [...]uint{0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE}[h]
}

func (h How) String() string {
	return [...]string{"replace", "noreplace", "exchange"}[h]
}

// Move is one renameat2(2). Whoever moves a folder then says Forget of its old
// path (of both after an exchange).
func (s *Store) Move(from, to Object, how How) error {
	return s.pair("rename", from, to, how.String(), func(a, b int) error {
		return unix.Renameat2(a, from.Name, b, to.Name, how.flags())
	})
}

// Link gives an object a second name; a symlink is linked itself. EEXIST if
// the name is taken.
func (s *Store) Link(from, to Object) error {
	return s.pair("link", from, to, "", func(a, b int) error {
		return unix.Linkat(a, from.Name, b, to.Name, 0)
	})
}

// pair makes a changing call on two names.
func (s *Store) pair(name string, from, to Object, detail string, call func(from, to int) error) error {
	c := Call{Name: name, Object: from, To: to, Detail: detail, Changes: true}
	return s.run(c, func() error {
		if err := checkName(from.Name); err != nil {
			return err
		}
		if err := checkName(to.Name); err != nil {
			return err
		}
		return s.inBoth(from.Folder, to.Folder, call)
	})
}

// Remove takes a name away from anything but a folder (EISDIR).
func (s *Store) Remove(o Object) error {
	return s.run(changing("unlink", o, ""), func() error { return s.unlink(o, 0) })
}

// Rmdir removes an empty folder and forgets its descriptor.
func (s *Store) Rmdir(o Object) error {
	err := s.run(changing("rmdir", o, ""), func() error { return s.unlink(o, unix.AT_REMOVEDIR) })
	if err == nil {
		s.Forget(path.Join(o.Folder, o.Name))
	}
	return err
}

func (s *Store) unlink(o Object, flags int) error {
	return s.at(o, func(dir int) error { return unix.Unlinkat(dir, o.Name, flags) })
}

// Readlink is the target of a symlink; EINVAL for anything else.
func (s *Store) Readlink(o Object) (string, error) {
	buf := make([]byte, unix.PathMax)
	var n int
	err := s.run(Call{Name: "readlink", Object: o}, func() error {
		return s.at(o, func(dir int) (err error) {
			n, err = unix.Readlinkat(dir, o.Name, buf)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// SyncFolder makes the names of a folder durable (fsync(2) of a directory).
func (s *Store) SyncFolder(folder string) error {
	return s.run(changing("fsync", Object{Folder: folder}, "folder"), func() error {
		fd, err := s.openListing(folder)
		if err == nil {
			err = retry(func() error { return unix.Fsync(fd) })
			unix.Close(fd)
		}
		return err
	})
}

// openListing opens a folder as a file: an O_PATH descriptor can be neither
// listed, locked nor synced.
func (s *Store) openListing(folder string) (fd int, err error) {
	err = s.inFolder(folder, func(dir int) error {
		fd, err = openBelow(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		return err
	})
	return fd, err
}
