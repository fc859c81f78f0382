package caller

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lacks says, in a sentence each, what this kernel can't tell of processes, and what is different because of it.
func (t *Table) Lacks() []string {
	var all []string
	if !tellsExits() {
		all = append(all, "This kernel (before Linux 6.15) does not tell how a process ended once its parent has waited for it: --unknown-exit says what becomes of what it was writing.")
	}
	if !t.unique {
		all = append(all, "This kernel (before Linux 6.9) has no identities of processes that are never used again: they are told apart by pid and start time.")
	}
	return all
}

// tellsExits tries PIDFD_GET_INFO, and asks for the version only where that alone does not say it: 6.13 and 6.14 have the
// call without the exit status, and there is no process whose end could be asked about.
func tellsExits() bool {
	fd, err := openPidfd(unix.Getpid())
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err = retry(func() error { return unix.IoctlPidfdInfo(fd, &info) })
	return !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EINVAL) && kernelIs(6, 15)
}

func kernelIs(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	return atLeast(unix.ByteSliceToString(u.Release[:]), major, minor)
}

// atLeast compares a kernel's release, such as 6.18.4-amd64.
func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	second := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return a > major || a == major && b >= minor
}
