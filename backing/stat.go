package backing

import "golang.org/x/sys/unix"

// ID is the identity of an inode. Inode numbers are reused at once (ext4,
// tmpfs); the birth time tells generations apart. Born is in nanoseconds since
// 1970, 0 where the filesystem keeps none.
type ID struct {
	Dev, Ino uint64
	Born     int64
}

// Stat is the state of an inode as statx(2) gives it. Size is in bytes, Blocks
// in units of 512 bytes; Mode includes the type (S_IFMT).
type Stat struct {
	ID
	Mode, Nlink, UID, GID uint32
	Size                  int64
	Blocks                uint64
	Blksize, Rdev         uint32
	Atime, Mtime, Ctime   unix.Timespec
}

// IsRegular tells whether it is a regular file.
func (st Stat) IsRegular() bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

// IsFolder tells whether it is a folder.
func (st Stat) IsFolder() bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// Stat is the state of an object, of a symlink itself.
func (s *Store) Stat(o Object) (st Stat, err error) {
	if o.Name != "" {
		err = s.look("stat", o, func(fd int) error { st, err = statOf(fd); return err })
		return st, err
	}
	err = s.run(Call{Name: "stat", Object: o}, func() error {
		return s.in(o.Folder, func(dir int) error {
			if st, err = statOf(dir); err == nil && st.Nlink == 0 {
				return unix.ENOENT
			}
			return err
		})
	})
	return st, err
}

// statOf is the state of an open object, O_PATH or not.
func statOf(fd int) (Stat, error) {
	const mask = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	var x unix.Statx_t
	err := retry(func() error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, &x) })
	if err != nil {
		return Stat{}, err
	}
	return fromStatx(&x), nil
}

func fromStatx(x *unix.Statx_t) Stat {
	st := Stat{
		ID:   ID{Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino},
		Mode: uint32(x.Mode), Nlink: x.Nlink, UID: x.Uid, GID: x.Gid,
		Size: int64(x.Size), Blocks: x.Blocks, Blksize: x.Blksize,
		Rdev:  uint32(unix.Mkdev(x.Rdev_major, x.Rdev_minor)),
		Atime: timespec(x.Atime), Mtime: timespec(x.Mtime), Ctime: timespec(x.Ctime),
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		born := timespec(x.Btime)
		st.Born = born.Nano()
	}
	return st
}

func timespec(t unix.StatxTimestamp) unix.Timespec {
	return unix.Timespec{Sec: t.Sec, Nsec: int64(t.Nsec)}
}

// isRemoved tells whether a folder has no name any more.
func isRemoved(dir int) bool {
	var st unix.Stat_t
	return unix.Fstat(dir, &st) == nil && st.Nlink == 0
}
