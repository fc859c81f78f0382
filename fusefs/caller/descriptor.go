package caller

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// descriptor is a file descriptor that may be dropped by one goroutine while another uses it: the last of them closes
// it, so its number can't be reused under anybody.
type descriptor struct {
	fd    int
	users atomic.Int32 // the owner counts as one
}

func newDescriptor(fd int) *descriptor {
	d := &descriptor{fd: fd}
	d.users.Store(1)
	return d
}

// use calls f with the descriptor, or returns EBADF once the owner has dropped it.
func (d *descriptor) use(f func(fd int) error) error {
	if d == nil || !d.acquire() {
		return unix.EBADF
	}
	defer d.release()
	return f(d.fd)
}

func (d *descriptor) acquire() bool {
	for {
		n := d.users.Load()
		if n == 0 {
			return false
		}
		if d.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (d *descriptor) release() {
	if d.users.Add(-1) == 0 {
		_ = unix.Close(d.fd) // read-only descriptors have nothing to report
	}
}

// drop ends the owner's use. It must be called once.
func (d *descriptor) drop() {
	if d != nil {
		d.release()
	}
}

// mostInterrupts is how often in a row a call is repeated: signals do not come that often.
const mostInterrupts = 1000

// retry repeats f while a signal interrupts it. EIO if that does not end.
func retry(f func() error) error {
	for range mostInterrupts {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
	return unix.EIO
}

// readAt reads a small procfs file below dir.
func readAt(dir int, name string) ([]byte, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readWhole(fd)
}

// readWhole reads from the start into a buffer that holds everything: procfs makes such a file anew for each read.
func readWhole(fd int) ([]byte, error) {
	for size := 2048; ; size *= 2 {
		buf := make([]byte, size)
		n, err := readStart(fd, buf)
		if err != nil || n < size {
			return buf[:n], err
		}
	}
}

func readStart(fd int, buf []byte) (n int, err error) {
	err = retry(func() (err error) {
		n, err = unix.Pread(fd, buf, 0)
		return err
	})
	return max(n, 0), err
}
