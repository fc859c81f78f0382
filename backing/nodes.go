package backing

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Mkdir makes a folder for uid and gid. In a setgid folder it gets the group
// and the setgid bit of that folder.
func (s *Store) Mkdir(o Object, mode, uid, gid uint32) error {
	return s.makeNode(changing("mkdir", o, ""), unix.S_IFDIR, uid, gid, func(dir int) error {
		return unix.Mkdirat(dir, o.Name, mode&0o7777)
	})
}

// Symlink makes a symlink that says target, whatever that is.
func (s *Store) Symlink(target string, o Object, uid, gid uint32) error {
	return s.makeNode(changing("symlink", o, printable(target)), unix.S_IFLNK, uid, gid, func(dir int) error {
		return unix.Symlinkat(target, dir, o.Name)
	})
}

// SymlinkOwn makes a symlink of the daemon's own user.
func (s *Store) SymlinkOwn(target string, o Object) error {
	return s.Symlink(target, o, uint32(s.self.uid), uint32(s.self.gid))
}

// Mknod makes a FIFO, socket, device or regular file, as mode says; rdev is
// coded as in Stat.
func (s *Store) Mknod(o Object, mode, rdev, uid, gid uint32) error {
	return s.makeNode(changing("mknod", o, ""), mode&unix.S_IFMT, uid, gid, func(dir int) error {
		return unix.Mknodat(dir, o.Name, mode, int(rdev))
	})
}

// MakePrivate makes a folder (mode 0700, ours) below the control folder, whose
// parent must exist. It is no error if it is there already; if something else
// is there, ENOTDIR or ELOOP.
func (s *Store) MakePrivate(folder string) error {
	cut := strings.LastIndexByte(folder, '/')
	if !isBelowControl(folder) || cut < 0 {
		return fail("mkdir", Object{Folder: folder}, unix.EINVAL)
	}
	o := Object{folder[:cut], folder[cut+1:]}
	c := changing("mkdir", o, "private")
	err := s.ask(c, func() error {
		return s.at(o, func(dir int) error { return unix.Mkdirat(dir, o.Name, 0o700) })
	})
	if err == unix.EEXIST {
		_, err = s.folderState(folder)
		return fail("mkdir", o, err)
	}
	return s.done(c, err)
}

// makeNode makes an object and gives it to its owner. If that fails it is gone
// again.
func (s *Store) makeNode(c Call, kind, uid, gid uint32, make func(dir int) error) error {
	return s.run(c, func() error { return s.makeFor(c.Object, kind, uid, gid, make) })
}

func (s *Store) makeFor(o Object, kind, uid, gid uint32, make func(dir int) error) error {
	folder, err := s.folderState(o.Folder)
	if err != nil {
		return err
	}
	since := fileClock()
	if err := s.at(o, make); err != nil {
		return err
	}
	err = s.with(o, func(fd int) error { return s.adopt(fd, kind, since, folder, uid, gid) })
	if err != nil && !errors.Is(err, errSwapped) {
		flags := 0
		if kind == unix.S_IFDIR {
			flags = unix.AT_REMOVEDIR
		}
		_ = s.unlink(o, flags)
	}
	return err
}

// errSwapped: between making an object and opening it somebody put another in
// its place.
var errSwapped = unix.ESTALE

// fileClock is the time that a file made now has as its birth time at least.
func fileClock() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return 0
	}
	return now.Nano()
}

// adopt gives away only what this store has just made: the right type, still
// ours, and not older. Else who may write to the folder could put something of
// ours there that was private, and would get it.
func (s *Store) adopt(fd int, kind uint32, since int64, folder Stat, uid, gid uint32) error {
	st, err := statOf(fd)
	if err != nil {
		return err
	}
	if kind == 0 {
		kind = unix.S_IFREG
	}
	if st.Mode&unix.S_IFMT != kind || int(st.UID) != s.self.uid || st.Born != 0 && st.Born < since {
		return errSwapped
	}
	return giveTo(fd, folder, uid, gid)
}
