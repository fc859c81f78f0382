package channel

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctls of the device, from include/uapi/linux/fuse.h (Linux 6.9).
const (
	ioctlBackingOpen  = 0x4010e501
	ioctlBackingClose = 0x4004e502
)

// backingMap is struct fuse_backing_map.
type backingMap struct {
	fd    int32
	flags uint32
	_     uint64
}

// OpenBacking registers a regular file's descriptor, O_PATH included, for
// passthrough. The id goes into OpenOut.BackingID with FOPEN_PASSTHROUGH; the
// kernel opens the file again for each such open, with the daemon's
// credentials. One inode may have one id at a time. The caller keeps fd and may
// close it. The kernel wants CAP_SYS_ADMIN in the initial user namespace
// (EPERM) and a backing filesystem that is not itself stacked (ELOOP).
func (c *Conn) OpenBacking(fd int) (id int32, err error) {
	m := backingMap{fd: int32(fd)}
	err = c.control(func(device int) error {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(device), ioctlBackingOpen, uintptr(unsafe.Pointer(&m)))
		if errno != 0 {
			return errno
		}
		id = int32(r)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("registering a file for passthrough: %w", err)
	}
	return id, nil
}

// CloseBacking gives an id from OpenBacking back. Opens that use it are not
// affected. An unknown id is logged.
func (c *Conn) CloseBacking(id int32) {
	err := c.control(func(device int) error {
		return unix.IoctlSetPointerInt(device, ioctlBackingClose, int(id))
	})
	if err != nil {
		c.options.Log.Warn("cannot give a passthrough file back", "id", id, "error", err)
	}
}
