package backing

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// beneath confines a lookup: no "..", no symlink, no magic link, no mount
// point leads out of the folder it starts from (openat2(2)).
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS |
	unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// mostInterrupts is how often in a row a call is repeated. Signals do not come that often; a filesystem that is a program
// (FUSE) can answer EINTR for ever.
const mostInterrupts = 1000

// retry repeats a call that a signal interrupted. EIO if that does not end.
func retry(call func() error) error {
	for range mostInterrupts {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
	return unix.EIO
}

// openBelow opens path below dir. The kernel wants mode to be 0 unless flags
// create something.
func openBelow(dir int, path string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Mode:    uint64(mode),
		Resolve: beneath,
	}
	return opened(func() (int, error) { return unix.Openat2(dir, path, &how) })
}

// openFolder opens the folder path below root as O_PATH. One system call takes
// less than PATH_MAX bytes, so a deeper path is walked in pieces.
func openFolder(root int, path string) (int, error) {
	at := root
	for {
		piece, rest := splitPath(path)
		fd, err := openBelow(at, piece, unix.O_PATH|unix.O_DIRECTORY, 0)
		if at != root {
			unix.Close(at)
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, path = fd, rest
	}
}

// splitPath cuts a path at the last '/' that one system call can reach.
func splitPath(path string) (piece, rest string) {
	if len(path) < unix.PathMax {
		return path, ""
	}
	cut := strings.LastIndexByte(path[:unix.PathMax], '/')
	if cut < 0 {
		return path, ""
	}
	return path[:cut], path[cut+1:]
}

// reopen opens the inode behind an O_PATH descriptor anew, for use.
func reopen(fd, flags int) (int, error) {
	path := procPath(fd)
	return opened(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
}

// procPath is the magic link of a descriptor (proc_pid_fd(5)): a path call on
// it acts on that inode, also on a symlink, and follows nothing else.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func opened(call func() (int, error)) (fd int, err error) {
	err = retry(func() error { fd, err = call(); return err })
	if err != nil {
		return -1, err
	}
	return fd, nil
}
