package backing

import "golang.org/x/sys/unix"

// Flock locks the open file as a whole, or unlocks it, without waiting; how is
// unix.LOCK_SH, LOCK_EX or LOCK_UN. EAGAIN if another descriptor has a lock that
// conflicts. The lock ends with this descriptor.
func (f *File) Flock(how int) error {
	return f.look("flock", func(fd int) error { return unix.Flock(fd, how|unix.LOCK_NB) })
}

// LockRange is F_OFD_SETLK: it locks bytes of the open file, or unlocks them; typ is
// unix.F_RDLCK, F_WRLCK or F_UNLCK. start and end are the first and the last byte.
func (f *File) LockRange(typ int16, start, end uint64) error {
	const last = 1<<63 - 1
	l := unix.Flock_t{Type: typ, Whence: unix.SEEK_SET, Start: int64(start)}
	if end < last {
		l.Len = int64(end-start) + 1
	}
	return f.look("lock", func(fd int) error { return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l) })
}
