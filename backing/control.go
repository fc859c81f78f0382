package backing

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Control is the name of the control folder at the root of the backing.
const Control = ".airlockfs"

const (
	// How long the lock of a daemon that is ending is waited for: a second.
	lockTries = 20
	lockPause = 50 * time.Millisecond
)

// Acquire makes the backing this store's own: it makes or checks the control
// folder, locks it against a second daemon until Close (flock(2)), writes or
// checks the format, and makes the areas. Errors: ErrForeignControl, ErrInUse,
// ErrFormat. It is called once, before the store is shared.
func (s *Store) Acquire() error {
	if err := s.makeControl(); err != nil {
		return err
	}
	if err := s.checkControl(); err != nil {
		return err
	}
	if err := s.lockControl(); err != nil {
		return err
	}
	if err := s.settleFormat(); err != nil {
		return err
	}
	for _, area := range s.areas {
		if err := s.MakePrivate(Control + "/" + area); err != nil {
			return err
		}
	}
	return s.SyncFolder(Control)
}

// Inspect is Acquire for a reader: it creates nothing, takes no lock, and
// answers ErrNoControl where no daemon has ever been, and ErrHalfMade where one
// ended before it had made the control folder.
func (s *Store) Inspect() error {
	if err := s.checkControl(); err != nil {
		return err
	}
	return s.checkFormat()
}

// ControlID is the identity of the control folder, known after Acquire or
// Inspect. It is recognised by this, not by its name.
func (s *Store) ControlID() ID { return s.control }

// makeControl makes the control folder if there is none. What a folder
// inherits from the root (setgid, default ACL) has no place in it.
func (s *Store) makeControl() error {
	control := Object{Name: Control}
	c := changing("mkdir", control, "private")
	err := s.ask(c, func() error {
		return s.in("", func(root int) error { return unix.Mkdirat(root, Control, 0o700) })
	})
	if err == unix.EEXIST {
		return nil
	}
	if err = s.done(c, err); err != nil {
		return fmt.Errorf("the folder %s/%s, for what is not public, can't be made: %w", s.path, Control, errors.Unwrap(err))
	}
	s.made = true
	err = s.change("chmod", control, "private", func(fd int) error {
		if err := dropACLs(fd); err != nil {
			return err
		}
		return unix.Chmod(procPath(fd), 0o700)
	})
	if err != nil {
		return err
	}
	return s.SyncFolder("")
}

func dropACLs(fd int) error {
	for _, name := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
		err := unix.Removexattr(procPath(fd), name)
		if err != nil && err != unix.ENODATA && err != unix.EOPNOTSUPP {
			return err
		}
	}
	return nil
}

// checkControl trusts only a real folder of our own that nobody else can enter.
func (s *Store) checkControl() error {
	st, err := s.Stat(Object{Name: Control})
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %s/%s: nothing was ever mounted from here", ErrNoControl, s.path, Control)
	case errors.Is(err, unix.EXDEV):
		return s.foreignControl("it is a mount point")
	case err != nil:
		return err
	case !st.IsFolder():
		return s.foreignControl("it is not a folder")
	case int(st.UID) != s.self.uid:
		return s.foreignControl(fmt.Sprintf("it belongs to uid %d, and this is uid %d", st.UID, s.self.uid))
	case st.Mode&0o777 != 0o700:
		path := s.path + "/" + Control
		return &ControlError{ErrOpenControl, path, fmt.Sprintf("its mode is %04o, so it may be open to others, and should be 0700", st.Mode&0o7777), "chmod 700 " + path}
	}
	s.control = st.ID
	return s.checkDevice(st)
}

func (s *Store) checkDevice(control Stat) error {
	root, err := s.Stat(Object{})
	if err == nil && root.Dev != control.Dev {
		return s.foreignControl("it lies on another device")
	}
	return err
}

func (s *Store) foreignControl(why string) error {
	return &ControlError{ErrForeignControl, s.path + "/" + Control, why, "mount as its owner, or move it away after a look at what is in it"}
}

// lockControl takes the flock. The descriptor is close-on-exec, so the lock
// ends with this process.
func (s *Store) lockControl() error {
	fd := -1
	err := s.run(Call{Name: "flock", Object: Object{Folder: Control}}, func() (err error) {
		fd, err = s.openLocked(Control)
		return err
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s: another daemon serves it: unmount that one first", ErrInUse, s.path)
	}
	if err != nil {
		return err
	}
	s.lock = fd
	st, err := statOf(fd)
	if err == nil && st.ID != s.control {
		return s.foreignControl("it was changed meanwhile")
	}
	if err == nil {
		s.folders.control, err = openBelow(fd, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	s.Forget(Control)
	return err
}

// openLocked opens a folder that no other daemon has locked, and locks it.
func (s *Store) openLocked(folder string) (fd int, err error) {
	if fd, err = s.openListing(folder); err != nil {
		return -1, err
	}
	try := func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }
	err = retry(try)
	for tries := 0; err == unix.EWOULDBLOCK && tries < lockTries; tries++ {
		<-time.After(lockPause) // a daemon that was just killed goes thread by thread
		err = retry(try)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}
