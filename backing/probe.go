package backing

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Lack is something that this backing can't do. Meaning is one plain sentence:
// what is different because of it.
type Lack struct{ Feature, Meaning string }

type feature struct {
	name    string
	meaning string
	try     func(dir int) error
}

var features = []feature{
	{"tmpfile", "New files do not inherit the default ACL of their folder, only its group.", tryTmpfile},
	{"xattr", "Files can't carry records, so origin, attempts and leases are lost at a restart.", tryXattr},
	{"noreplace", "A name that appears at the same moment can be replaced unseen.", tryRename(unix.RENAME_NOREPLACE)},
	{"exchange", "Two names can't change places in one step.", tryRename(unix.RENAME_EXCHANGE)},
	{"hardlinks", "A file can't have two names, so programs that publish with link(2) fail.", tryLink},
	{"birthtime", "A file that was removed and made anew under the same inode number can be taken for the old one.", tryBirth},
	{"leases", "A file that appeared in the backing from outside may still be open for writing.", tryLease},
	{"fallocate", "Space can't be reserved ahead of writing.", tryAllocate},
	{"reflink", "A copy of a file takes time and space for all its bytes.", tryReflink},
}

// Probe tells what this backing can't do, found by trying it in a scratch
// folder below the control folder, after Acquire. Nothing of it is traced.
func (s *Store) Probe() []Lack {
	dir, err := s.openScratch()
	if err != nil {
		return []Lack{{"probe", fmt.Sprintf("Nothing could be tried out: %v.", err)}}
	}
	defer s.closeScratch(dir)
	var lacks []Lack
	for _, f := range features {
		wipe(dir)
		if f.try(dir) != nil {
			lacks = append(lacks, Lack{f.name, f.meaning})
		}
	}
	return lacks
}

const scratch = "probe"

func (s *Store) openScratch() (dir int, err error) {
	err = s.ask(changing("probe", Object{Control, scratch}, ""), func() error {
		return s.in(Control, func(control int) error {
			err := unix.Mkdirat(control, scratch, 0o700)
			if err != nil && err != unix.EEXIST {
				return err
			}
			dir, err = openBelow(control, scratch, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			return err
		})
	})
	return dir, err
}

func (s *Store) closeScratch(dir int) {
	wipe(dir)
	unix.Close(dir)
	_ = s.in(Control, func(control int) error {
		return unix.Unlinkat(control, scratch, unix.AT_REMOVEDIR)
	})
}

func wipe(dir int) {
	for _, name := range []string{"a", "b"} {
		_ = unix.Unlinkat(dir, name, 0)
	}
}

// withFile makes the file name in dir for one trial.
func withFile(dir int, name string, try func(fd int) error) error {
	fd, err := openBelow(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return try(fd)
}

func withFiles(dir int, try func(a, b int) error) error {
	return withFile(dir, "a", func(a int) error {
		return withFile(dir, "b", func(b int) error { return try(a, b) })
	})
}

func tryTmpfile(dir int) error {
	fd, err := openBelow(dir, ".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, procPath(fd), dir, "a", unix.AT_SYMLINK_FOLLOW)
}

func tryXattr(dir int) error {
	return withFile(dir, "a", func(fd int) error { return unix.Fsetxattr(fd, noteName, []byte("1"), 0) })
}

// tryRename moves a to a free name, or exchanges it with a taken one.
func tryRename(flag uint) func(dir int) error {
	return func(dir int) error {
		return withFiles(dir, func(_, _ int) error {
			if flag == unix.RENAME_NOREPLACE {
				_ = unix.Unlinkat(dir, "b", 0)
			}
			return unix.Renameat2(dir, "a", dir, "b", flag)
		})
	}
}

func tryLink(dir int) error {
	return withFile(dir, "a", func(int) error { return unix.Linkat(dir, "a", dir, "b", 0) })
}

func tryBirth(dir int) error {
	return withFile(dir, "a", func(fd int) error {
		st, err := statOf(fd)
		if err == nil && st.Born == 0 {
			err = unix.EOPNOTSUPP
		}
		return err
	})
}

func tryLease(dir int) error {
	if err := withFile(dir, "a", func(int) error { return nil }); err != nil {
		return err
	}
	fd, err := openBelow(dir, "a", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

func tryAllocate(dir int) error {
	return withFile(dir, "a", func(fd int) error { return unix.Fallocate(fd, 0, 0, 4096) })
}

func tryReflink(dir int) error {
	return withFiles(dir, func(a, b int) error {
		if _, err := unix.Write(a, make([]byte, 4096)); err != nil {
			return err
		}
		return unix.IoctlFileClone(b, a)
	})
}
