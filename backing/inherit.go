package backing

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// aclName is the attribute that holds an access ACL (acl(5)).
const aclName = "system.posix_acl_access"

// Inherit gives a new file what an older one has beside its bytes and owner, as
// one that is written in place keeps it: the access ACL, or none, the mode, and
// the attributes of users and of root, but not the note. Without the ACL the
// group bits, which are then its mask, would become the owning group's rights.
func (s *Store) Inherit(f *File, from Object, mode uint32) error {
	return s.run(changing("inherit", f.at, fmt.Sprintf("%04o", mode&0o7777)), func() error {
		return s.with(from, func(old int) error {
			return f.control(func(fd int) error { return inherit(procPath(old), fd, mode) })
		})
	})
}

func inherit(old string, fd int, mode uint32) error {
	names, err := xattrNames(func(buf []byte) (int, error) { return unix.Listxattr(old, buf) })
	if err != nil {
		return err
	}
	own, err := xattrNames(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if err != nil {
		return err
	}
	for _, name := range own { // of the folder's default ACL
		if name == aclName {
			if err := unix.Fremovexattr(fd, name); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if err := inheritXattr(old, fd, name); err != nil {
			return err
		}
	}
	if len(names) == 0 && len(own) == 0 {
		return nil // it was made with this mode
	}
	return unix.Fchmod(fd, mode&0o7777)
}

// xattrNames are the names of all attributes; none where there can be none.
func xattrNames(list func(buf []byte) (int, error)) ([]string, error) {
	buf := make([]byte, noteGuess)
	for {
		n, err := list(buf)
		switch err {
		case nil:
			return strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 }), nil
		case unix.EOPNOTSUPP:
			return nil, nil
		case unix.ERANGE:
			buf = make([]byte, 4*len(buf))
		default:
			return nil, err
		}
	}
}

func inheritXattr(old string, fd int, name string) error {
	ours := strings.HasPrefix(name, "user.airlockfs.")
	if ours || name != aclName && !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "trusted.") {
		return nil
	}
	value, err := readXattr(old, name)
	if err != nil || value == nil {
		return err
	}
	return unix.Fsetxattr(fd, name, value, 0)
}
