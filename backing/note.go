package backing

import "golang.org/x/sys/unix"

// noteName is the extended attribute that holds a note.
const noteName = "user.airlockfs.note"

// noteGuess is larger than almost every note: one system call reads it.
const noteGuess = 1024

// Note is the record that travels with an inode, opaque bytes. nil, nil if
// there is none or there can be none: only regular files and folders have
// notes, on filesystems with user attributes (xattr(7)).
func (s *Store) Note(o Object) (note []byte, err error) {
	err = s.look("read note", o, func(fd int) error { note, err = readXattr(procPath(fd), noteName); return err })
	return note, err
}

// readXattr is the value of an attribute, nil if there is none.
func readXattr(path, name string) ([]byte, error) {
	buf := make([]byte, noteGuess)
	for {
		n, err := unix.Getxattr(path, name, buf)
		switch err {
		case nil:
			return buf[:n], nil
		case unix.ENODATA, unix.EOPNOTSUPP:
			return nil, nil
		case unix.ERANGE:
			buf = make([]byte, 4*len(buf))
		default:
			return nil, err
		}
	}
}

// SetNote replaces the note in one step. Filesystems limit its length: 4 KiB
// with everything else on a usual ext4 (ENOSPC), 64 KiB anywhere (E2BIG).
// EPERM on what can have none.
func (s *Store) SetNote(o Object, note []byte) error {
	return s.change("note", o, "", func(fd int) error { return unix.Setxattr(procPath(fd), noteName, note, 0) })
}

// SetNote is Store.SetNote of the open inode, which may have no name yet.
func (f *File) SetNote(note []byte) error {
	return f.change("note", "", func(fd int) error { return unix.Fsetxattr(fd, noteName, note, 0) })
}

// ClearNote removes the note; it is no error if there is none.
func (s *Store) ClearNote(o Object) error {
	c := changing("clear note", o, "")
	err := s.ask(c, func() error {
		return s.with(o, func(fd int) error { return unix.Removexattr(procPath(fd), noteName) })
	})
	if err == unix.ENODATA || err == unix.EOPNOTSUPP {
		return nil
	}
	return s.done(c, err)
}
