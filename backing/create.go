package backing

import "golang.org/x/sys/unix"

const special = unix.S_ISUID | unix.S_ISGID // the mode bits that chown(2) clears

// Create makes an empty regular file at a private place that looks as if it
// had been created in the folder like: it gets that folder's setgid group and
// default ACL, because it is made there without a name (O_TMPFILE, open(2))
// and then linked to its place. It is open O_RDWR. EEXIST if the place is taken.
//
// Where the filesystem has no O_TMPFILE the file is made at its place and
// inherits the group only.
func (s *Store) Create(at Object, like string, mode, uid, gid uint32) (*File, error) {
	return s.makeFile(changing("create", at, "like "+Object{Folder: like}.String()), func() (int, error) {
		fd, err := s.nameless(like, mode, uid, gid)
		if lacksTmpfile(err) {
			return s.named(at, like, unix.O_RDWR, mode, uid, gid)
		}
		if err != nil {
			return -1, err
		}
		if err = s.linkTo(fd, at); err != nil {
			unix.Close(fd)
		}
		return fd, err
	})
}

// makeFile makes a changing call that gives a descriptor.
func (s *Store) makeFile(c Call, make func() (fd int, err error)) (*File, error) {
	fd := -1
	err := s.run(c, func() (err error) { fd, err = make(); return err })
	return s.newFile(fd, c.Object, err)
}

// CreateInPlace makes an empty regular file in its folder and opens it with
// flags, those of Open. EEXIST if the name is taken. Others can
// see the file before it has its owner.
func (s *Store) CreateInPlace(at Object, flags int, mode, uid, gid uint32) (*File, error) {
	return s.makeFile(changing("create", at, "in place"), func() (int, error) {
		return s.named(at, at.Folder, flags, mode, uid, gid)
	})
}

// CreateNameless makes an empty regular file without a name, as if created in
// the folder like, for LinkFile; without that it ends with its last
// descriptor. EOPNOTSUPP where the filesystem has no O_TMPFILE.
func (s *Store) CreateNameless(like string, mode, uid, gid uint32) (*File, error) {
	return s.makeFile(changing("create", Object{Folder: like}, "nameless"), func() (int, error) {
		fd, err := s.nameless(like, mode, uid, gid)
		if lacksTmpfile(err) {
			err = unix.EOPNOTSUPP
		}
		return fd, err
	})
}

// LinkFile gives a nameless file its name, before anybody else has the file.
// EEXIST if that is taken.
func (s *Store) LinkFile(f *File, at Object) error {
	err := s.run(changing("link", at, "nameless"), func() error {
		return f.control(func(fd int) error { return s.linkTo(fd, at) })
	})
	if err == nil {
		f.at = at
	}
	return err
}

// lacksTmpfile tells whether an O_TMPFILE open failed because the filesystem
// (EOPNOTSUPP) or its driver (EISDIR, see open(2)) does not know it.
func lacksTmpfile(err error) bool { return err == unix.EOPNOTSUPP || err == unix.EISDIR }

func (s *Store) nameless(like string, mode, uid, gid uint32) (fd int, err error) {
	var folder Stat
	err = s.inFolder(like, func(dir int) error {
		if folder, err = statOf(dir); err != nil {
			return err
		}
		fd, err = openBelow(dir, ".", unix.O_TMPFILE|unix.O_RDWR, mode&0o7777)
		return err
	})
	if err != nil {
		return -1, err
	}
	if err = giveTo(fd, folder, uid, gid); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// linkTo names a file made with O_TMPFILE. linkat(2) wants CAP_DAC_READ_SEARCH
// for an empty path and answers ENOENT without; the magic link needs no right.
func (s *Store) linkTo(fd int, at Object) error {
	return s.at(at, func(dir int) error {
		err := unix.Linkat(fd, "", dir, at.Name, unix.AT_EMPTY_PATH)
		if err == unix.ENOENT {
			err = unix.Linkat(unix.AT_FDCWD, procPath(fd), dir, at.Name, unix.AT_SYMLINK_FOLLOW)
		}
		return err
	})
}

// named makes a file under its name, with the owner it would have had in like.
func (s *Store) named(at Object, like string, flags int, mode, uid, gid uint32) (fd int, err error) {
	if flags&^(openFlags|unix.O_CREAT|unix.O_EXCL) != 0 {
		return -1, unix.EINVAL
	}
	folder, err := s.folderState(like)
	if err != nil {
		return -1, err
	}
	err = s.at(at, func(dir int) error {
		fd, err = openBelow(dir, at.Name, flags|unix.O_CREAT|unix.O_EXCL, mode&0o7777)
		return err
	})
	if err != nil {
		return -1, err
	}
	if err = giveTo(fd, folder, uid, gid); err != nil {
		unix.Close(fd)
		_ = s.unlink(at, 0)
		return -1, err
	}
	return fd, nil
}

// folderState is Stat of a folder with the bare errno.
func (s *Store) folderState(folder string) (st Stat, err error) {
	err = s.inFolder(folder, func(dir int) error { st, err = statOf(dir); return err })
	return st, err
}

// giveTo gives a new object to its creator. In a setgid folder the group is the
// folder's (inode(7)). chown(2) clears setuid and setgid bits of a file even
// for root, so they are set again.
func giveTo(fd int, folder Stat, uid, gid uint32) error {
	st, err := statOf(fd)
	if err != nil {
		return err
	}
	if folder.Mode&unix.S_ISGID != 0 {
		gid = folder.GID
	}
	if st.UID == uid && st.GID == gid {
		return nil
	}
	err = retry(func() error { return unix.Fchownat(fd, "", int(uid), int(gid), unix.AT_EMPTY_PATH) })
	if err != nil || st.Mode&special == 0 || st.IsFolder() {
		return err
	}
	return retry(func() error { return unix.Chmod(procPath(fd), st.Mode&0o7777) })
}
