package backing

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Chmod sets the permission bits. EOPNOTSUPP for a symlink.
func (s *Store) Chmod(o Object, mode uint32) error {
	return s.change("chmod", o, fmt.Sprintf("%04o", mode&0o7777), func(fd int) error { return chmod(fd, mode) })
}

// Chown sets owner and group, of a symlink itself; -1 keeps one.
func (s *Store) Chown(o Object, uid, gid int) error {
	return s.change("chown", o, fmt.Sprintf("%d:%d", uid, gid), func(fd int) error { return chown(fd, uid, gid) })
}

// Utimens sets the times of access and change, of a symlink itself; nil keeps
// one, Nsec may be UTIME_NOW (utimensat(2)).
func (s *Store) Utimens(o Object, atime, mtime *unix.Timespec) error {
	return s.change("utimens", o, "", func(fd int) error { return utimens(fd, atime, mtime) })
}

// Truncate sets the length in bytes of a regular file: EISDIR for a folder,
// ErrNotRegular for anything else.
func (s *Store) Truncate(o Object, size int64) error {
	return s.change("truncate", o, fmt.Sprint(size), func(fd int) error {
		st, err := statOf(fd)
		if err == nil && !st.IsRegular() && !st.IsFolder() {
			err = ErrNotRegular
		}
		if err != nil {
			return err
		}
		return unix.Truncate(procPath(fd), size)
	})
}

// GetXattr reads an extended attribute into buf and gives its length; an empty
// buf only asks for that (getxattr(2)). Symlinks are not followed.
func (s *Store) GetXattr(o Object, name string, buf []byte) (n int, err error) {
	err = s.look("getxattr", o, func(fd int) error { n, err = unix.Getxattr(procPath(fd), name, buf); return err })
	return n, err
}

// SetXattr sets an extended attribute; flags are XATTR_CREATE or XATTR_REPLACE.
func (s *Store) SetXattr(o Object, name string, value []byte, flags int) error {
	return s.change("setxattr", o, name, func(fd int) error { return unix.Setxattr(procPath(fd), name, value, flags) })
}

// ListXattr reads the names of all extended attributes, each ended by NUL.
func (s *Store) ListXattr(o Object, buf []byte) (n int, err error) {
	err = s.look("listxattr", o, func(fd int) error { n, err = unix.Listxattr(procPath(fd), buf); return err })
	return n, err
}

// RemoveXattr removes an extended attribute; ENODATA if there is none.
func (s *Store) RemoveXattr(o Object, name string) error {
	return s.change("removexattr", o, name, func(fd int) error { return unix.Removexattr(procPath(fd), name) })
}

// chmod works on O_PATH descriptors too, which fchmod(2) refuses.
func chmod(fd int, mode uint32) error { return unix.Chmod(procPath(fd), mode&0o7777) }

func chown(fd, uid, gid int) error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) }

func utimens(fd int, atime, mtime *unix.Timespec) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	for i, t := range []*unix.Timespec{atime, mtime} {
		if t != nil {
			times[i] = *t
		}
	}
	return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH)
}
