package caller

import (
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// openPidfd opens a process by the id of its main thread. ESRCH: there is none; ENOENT, or EINVAL before Linux 6.9: the
// id is another thread's. See pidfd_open(2).
func openPidfd(pid int) (int, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.PidfdOpen(pid, 0)
		return err
	})
	return fd, err
}

// ended tells whether the process is a zombie or gone: only then does its pidfd poll readable.
func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n := 0
	err := retry(func() (err error) {
		n, err = unix.Poll(fds, 0)
		return err
	})
	return err == nil && n > 0
}

// uniquePidfds tells whether the kernel gives pidfds inode numbers of their own (pidfs, Linux 6.9).
func uniquePidfds() (bool, error) {
	fd, err := openPidfd(unix.Getpid())
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &fs) }); err != nil {
		return false, err
	}
	return int64(fs.Type) == unix.PID_FS_MAGIC, nil
}

// inode is the number that is the process's own until the next boot; 0 where the kernel has none or the call fails.
func (t *Table) inode(pidfd int) uint64 {
	var st unix.Stat_t
	if !t.unique || retry(func() error { return unix.Fstat(pidfd, &st) }) != nil {
		return 0
	}
	return st.Ino
}

// reaped tells how a process ended that somebody has waited for (Linux 6.15). The kernel doesn't answer for a zombie.
func reaped(pidfd int) (protocol.Verdict, bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err := retry(func() error { return unix.IoctlPidfdInfo(pidfd, &info) })
	if err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return protocol.Verdict{Kind: protocol.Unknown}, false
	}
	return protocol.VerdictOf(uint32(info.Exit_code)), true
}
