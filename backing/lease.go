package backing

import "golang.org/x/sys/unix"

// WrittenElsewhere tells whether anybody on this host, this process included,
// has a regular file open for writing; false for anything else. The kernel
// refuses a read lease exactly then (fcntl(2), F_SETLEASE), and it is given up
// at once. Somebody else's write lease counts as open for writing.
func (s *Store) WrittenElsewhere(o Object) (written bool, err error) {
	err = s.look("lease", o, func(fd int) error {
		st, err := statOf(fd)
		if err != nil || !st.IsRegular() {
			return err
		}
		written, err = hasWriter(fd)
		return err
	})
	return written, err
}

// WrittenElsewhere is Store.WrittenElsewhere of a file that is open for reading
// only. It costs two system calls instead of seven.
func (f *File) WrittenElsewhere() (written bool, err error) {
	err = f.look("lease", func(fd int) error {
		written, err = refusesLease(fd)
		return err
	})
	return written, err
}

func hasWriter(path int) (bool, error) {
	fd, err := reopen(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err == unix.EWOULDBLOCK {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	return refusesLease(fd)
}

// refusesLease takes a read lease and gives it up.
func refusesLease(fd int) (bool, error) {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err == unix.EAGAIN {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return false, err
}
