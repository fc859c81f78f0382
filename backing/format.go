package backing

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	formatName = "format"
	format     = "airlockfs 1\n"
)

// settleFormat writes the format into a control folder that is new, or
// half-made. What an existing one says is never guessed: it is known, or
// refused before anything is changed.
func (s *Store) settleFormat() error {
	if s.made {
		return s.writeFormat()
	}
	err := s.checkFormat()
	if errors.Is(err, ErrHalfMade) {
		return s.writeFormat()
	}
	return err
}

// checkFormat answers ErrFormat if the format is not ours, ErrFormatMissing if
// there is none, and ErrHalfMade if there is nothing else either.
func (s *Store) checkFormat() error {
	says, err := s.readFormat()
	switch {
	case err != nil:
		return err
	case says == format:
		return nil
	case !strings.HasPrefix(format, says):
		return s.unknownFormat(says)
	}
	used, err := s.used()
	switch {
	case err != nil:
		return err
	case !used:
		return fmt.Errorf("%w: %s/%s: the mount that was making it was interrupted", ErrHalfMade, s.path, Control)
	}
	return fmt.Errorf("%w: %s/%s/%s is missing or cut off (%q), and there are files in the control folder: restore it from a copy; nothing was changed",
		ErrFormatMissing, s.path, Control, formatName, says)
}

func (s *Store) unknownFormat(says string) error {
	do, number := "restore that file from a copy", 0
	if _, err := fmt.Sscanf(says, "airlockfs %d\n", &number); err == nil && number > 1 {
		do = "use a version that knows it"
	}
	return fmt.Errorf("%w: %s/%s/%s says %q, this version knows %q only: %s; nothing was changed",
		ErrFormat, s.path, Control, formatName, says, format, do)
}

// readFormat is what the format file says, or its beginning; "" if there is none.
func (s *Store) readFormat() (string, error) {
	f, _, err := s.Open(Object{Control, formatName}, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 2*len(format))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	return string(head[:n]), nil
}

var errUsed = errors.New("used")

// used tells whether the folders of the control folder hold anything but empty folders.
func (s *Store) used() (bool, error) {
	err := s.listFolder(Control, nil, func(area string) error {
		return s.listFolder(area, errUsed, func(place string) error {
			return s.List(place, func(Entry) error { return errUsed })
		})
	})
	if err == errUsed {
		return true, nil
	}
	return false, err
}

// listFolder calls each for the folders in a folder, and ends with other if there is anything else.
func (s *Store) listFolder(folder string, other error, each func(path string) error) error {
	return s.List(folder, func(e Entry) error {
		st, err := s.Stat(Object{folder, e.Name})
		switch {
		case err != nil:
			return err
		case !st.IsFolder():
			return other
		}
		return each(folder + "/" + e.Name)
	})
}

// writeFormat makes the file whole before it gets its name: a crash leaves
// either no format or the right one.
func (s *Store) writeFormat() error {
	draft := Object{Control, formatName + ".new"}
	if err := s.Remove(draft); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	f, err := s.CreateInPlace(draft, unix.O_WRONLY, 0o600, uint32(s.self.uid), uint32(s.self.gid))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte(format)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return s.Move(draft, Object{Control, formatName}, Replace)
}
