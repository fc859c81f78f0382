package backing

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// GoneError says that the backing is not there any more, and what to do. It
// never comes back under this store: each call answers it from then on, as EIO.
type GoneError struct{ What, Do string }

func (e *GoneError) Error() string { return e.What + ": " + e.Do }

// Unwrap is the errno that programs get.
func (e *GoneError) Unwrap() error { return unix.EIO }

var (
	rootRemoved = &GoneError{"the backing folder was removed",
		"what was in it is gone; unmount"}
	controlRemoved = &GoneError{"the control folder of the backing was removed",
		"what was hidden or claimed is gone; unmount, and mount again"}
	detached = &GoneError{"the filesystem of the backing was unmounted",
		"unmount, mount the backing's filesystem again, then the backing: what is claimed or unfinished is still on it"}
)

// Gone is a *GoneError once the backing is not there any more, else nil.
func (s *Store) Gone() error {
	if e := s.gone.Load(); e != nil {
		return e
	}
	return nil
}

// lose notes that the backing is gone.
func (s *Store) lose(e *GoneError) error {
	if s.gone.CompareAndSwap(nil, e) {
		s.trouble(e)
	}
	return s.gone.Load()
}

// orGone is the answer to a call that found nothing: nothing can be found
// where the root or the control folder has no name any more.
func (s *Store) orGone(path string) error {
	switch {
	case isRemoved(s.folders.root.fd):
		return s.lose(rootRemoved)
	case s.folders.control >= 0 && isBelowControl(path) && isRemoved(s.folders.control):
		return s.lose(controlRemoved)
	}
	return unix.ENOENT
}

// trouble tells of an error that is not about one file.
func (s *Store) trouble(err error) {
	if s.tell != nil && (errors.Is(err, unix.EIO) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENODEV)) {
		s.tell(err)
	}
}

// WatchDisk has tell called, from any goroutine, with each error that says that
// the disk fails rather than the call (EIO, EROFS, ENODEV), and once with a
// *GoneError. From now on calls notice, within a second, that the backing's
// filesystem was unmounted: its descriptors keep it alive then, out of
// everybody's sight. It is called once, before the store is shared.
func (s *Store) WatchDisk(tell func(error)) error {
	s.tell = tell
	id, err := s.mountID()
	if err != nil || !listed(id) {
		return err // it was never in sight: nobody can unmount it
	}
	table, err := unix.Open(mountTable, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		s.mounts = &mounts{table: table, id: id}
	}
	return err
}

const mountTable = "/proc/self/mountinfo"

// mounts tells whether a mount is still there.
type mounts struct {
	table int // the table of mounts, open
	id    uint64
	asked atomic.Int64 // when it was asked last, in nanoseconds since 1970
}

// howOften the table of mounts is asked about at most.
const howOften = 250 * time.Millisecond

// detached asks, now and then, whether the table of mounts has changed (a poll
// that does not wait: proc_pid_mounts(5)), and only then reads it.
func (m *mounts) detached() bool {
	now, last := time.Now().UnixNano(), m.asked.Load()
	if now-last < int64(howOften) && now >= last || !m.asked.CompareAndSwap(last, now) {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(m.table), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && !listed(m.id)
}

// mountID is the number of the mount that the root lies on.
func (s *Store) mountID() (uint64, error) {
	var x unix.Statx_t
	err := retry(func() error {
		return unix.Statx(s.folders.root.fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x)
	})
	return x.Mnt_id, err
}

// listed tells whether the table of mounts has a mount. If it can't be read it
// has.
func listed(id uint64) bool {
	table, err := os.ReadFile(mountTable)
	return err != nil || bytes.HasPrefix(table, []byte(strconv.FormatUint(id, 10)+" ")) ||
		bytes.Contains(table, []byte("\n"+strconv.FormatUint(id, 10)+" "))
}
