package backing

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// File is an open regular file. A call that races with Close answers EBADF. A
// file opened with O_APPEND is written with Write: os.File refuses WriteAt
// there.
type File struct {
	file  *os.File
	store *Store
	at    Object // where it was when it was opened, for messages
}

// openFlags is what Open takes: the access mode and these.
const openFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_TRUNC | unix.O_NOATIME | unix.O_DIRECT |
	unix.O_DSYNC | unix.O_SYNC | unix.O_NONBLOCK | unix.O_LARGEFILE | unix.O_CLOEXEC | unix.O_NOFOLLOW

// Open opens a regular file with flags: the access mode, O_APPEND, O_TRUNC,
// O_NOATIME, O_DIRECT, O_SYNC, O_DSYNC; EINVAL for others that change what is
// opened. It looks first (O_PATH) and opens the very inode it has seen;
// ErrNotRegular for anything but a regular file. Stat is of that inode, after
// a truncation.
func (s *Store) Open(o Object, flags int) (*File, Stat, error) {
	if flags&^openFlags != 0 {
		return nil, Stat{}, fail("open", o, unix.EINVAL)
	}
	c := Call{Name: "open", Object: o}
	if flags&unix.O_TRUNC != 0 {
		c = changing("open", o, "truncate")
	}
	var st Stat
	f, err := s.makeFile(c, func() (fd int, err error) {
		err = s.with(o, func(path int) (err error) {
			fd, st, err = openRegular(path, flags)
			return err
		})
		return fd, err
	})
	return f, st, err
}

// openRegular opens the inode behind an O_PATH descriptor. The state is that
// after a truncation.
func openRegular(path, flags int) (fd int, st Stat, err error) {
	if st, err = statOf(path); err != nil {
		return -1, st, err
	}
	if !st.IsRegular() {
		return -1, st, ErrNotRegular
	}
	if fd, err = reopen(path, flags); err == nil && flags&unix.O_TRUNC != 0 {
		if st, err = statOf(path); err != nil {
			unix.Close(fd)
		}
	}
	return fd, st, err
}

func (s *Store) newFile(fd int, at Object, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{file: os.NewFile(uintptr(fd), at.String()), store: s, at: at}, nil
}

// control runs one system call on the descriptor and keeps it open meanwhile.
func (f *File) control(call func(fd int) error) error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return unix.EBADF
	}
	if raw.Control(func(fd uintptr) {
		err = retry(func() error { return call(int(fd)) })
	}) != nil {
		return unix.EBADF
	}
	return err
}

// change makes a changing call on the descriptor.
func (f *File) change(name, detail string, do func(fd int) error) error {
	return f.store.run(changing(name, f.at, detail), func() error { return f.control(do) })
}

// look makes a call that changes nothing.
func (f *File) look(name string, do func(fd int) error) error {
	return f.store.run(Call{Name: name, Object: f.at}, func() error { return f.control(do) })
}

// Stat2 is the state of the open inode (os.File's Stat says less).
func (f *File) Stat2() (st Stat, err error) {
	err = f.look("stat", func(fd int) error { st, err = statOf(fd); return err })
	return st, err
}

// Sync makes bytes and state durable. A failed fsync(2) is never to be
// repeated: the kernel has dropped what it could not write.
func (f *File) Sync() error { return f.change("fsync", "", unix.Fsync) }

// Datasync makes the bytes durable, and of the state what reading them needs.
func (f *File) Datasync() error { return f.change("fdatasync", "", unix.Fdatasync) }

// Chmod sets the permission bits.
func (f *File) Chmod(mode uint32) error {
	return f.change("chmod", fmt.Sprintf("%04o", mode&0o7777), func(fd int) error {
		return unix.Fchmod(fd, mode&0o7777)
	})
}

// Chown sets owner and group; -1 keeps one.
func (f *File) Chown(uid, gid int) error {
	return f.change("chown", fmt.Sprintf("%d:%d", uid, gid), func(fd int) error { return unix.Fchown(fd, uid, gid) })
}

// Utimens sets the times of access and change; nil keeps one, Nsec may be
// UTIME_NOW.
func (f *File) Utimens(atime, mtime *unix.Timespec) error {
	return f.change("utimens", "", func(fd int) error { return utimens(fd, atime, mtime) })
}

// Truncate sets the length in bytes.
func (f *File) Truncate(size int64) error {
	return f.change("truncate", fmt.Sprint(size), func(fd int) error { return unix.Ftruncate(fd, size) })
}

// Allocate is fallocate(2): n bytes from off, both in bytes.
func (f *File) Allocate(mode uint32, off, n int64) error {
	return f.change("fallocate", "", func(fd int) error { return unix.Fallocate(fd, mode, off, n) })
}

// SeekHole finds the next hole or data at or after off; whence is SEEK_HOLE or
// SEEK_DATA (lseek(2)). ENXIO beyond the last.
func (f *File) SeekHole(off int64, whence int) (at int64, err error) {
	err = f.look("lseek", func(fd int) error { at, err = unix.Seek(fd, off, whence); return err })
	return at, err
}

// GetXattr is Store.GetXattr of the open inode, and so are the next three.
func (f *File) GetXattr(name string, buf []byte) (n int, err error) {
	err = f.look("getxattr", func(fd int) error { n, err = unix.Fgetxattr(fd, name, buf); return err })
	return n, err
}

// SetXattr sets an extended attribute.
func (f *File) SetXattr(name string, value []byte, flags int) error {
	return f.change("setxattr", name, func(fd int) error { return unix.Fsetxattr(fd, name, value, flags) })
}

// ListXattr reads the names of all extended attributes.
func (f *File) ListXattr(buf []byte) (n int, err error) {
	err = f.look("listxattr", func(fd int) error { n, err = unix.Flistxattr(fd, buf); return err })
	return n, err
}

// RemoveXattr removes an extended attribute.
func (f *File) RemoveXattr(name string) error {
	return f.change("removexattr", name, func(fd int) error { return unix.Fremovexattr(fd, name) })
}
