package channel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// enum fuse_notify_code, in place of the error of a reply with unique 0.
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
	notifyDelete     = 6
)

// NotifyEntry makes the kernel forget what it knows about a name. The kernel
// locks the parent folder for it, so a handler of a request in that folder, or
// anybody who holds a lock which such a handler waits for, must not call it.
// A name the kernel does not know is no error.
func (c *Conn) NotifyEntry(parent uint64, name string) error {
	return c.notify(notifyInvalEntry, encodeInvalEntry(parent, name))
}

// NotifyDelete says that a name is gone. It does what NotifyEntry does, under
// the same conditions, and tells inotify watchers.
func (c *Conn) NotifyDelete(parent, child uint64, name string) error {
	return c.notify(notifyDelete, encodeDelete(parent, child, name))
}

// NotifyInode makes the kernel forget the attributes of a node and, unless
// offset is negative, the cached data of length bytes from offset (0: to the
// end). With data it waits for page locks, so a READ or WRITE handler of that
// node must not call it. A node the kernel does not know is no error.
func (c *Conn) NotifyInode(node uint64, offset, length int64) error {
	return c.notify(notifyInvalInode, encodeInvalInode(node, offset, length))
}

func (c *Conn) notify(code uint32, body []byte) error {
	message := native.AppendUint32(nil, uint32(outHeaderSize+len(body)))
	message = native.AppendUint32(message, code)
	message = native.AppendUint64(message, 0)
	message = append(message, body...)
	err := c.control(func(fd int) error {
		_, err := unix.Write(fd, message)
		return err
	})
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fmt.Errorf("notifying the kernel: %w", err)
	}
	return nil
}

// control runs f with the device's descriptor, which stays open meanwhile.
func (c *Conn) control(f func(fd int) error) error {
	raw, err := c.device.SyscallConn()
	if err != nil {
		return err
	}
	if closed := raw.Control(func(fd uintptr) { err = f(int(fd)) }); closed != nil {
		return closed
	}
	return err
}

func encodeInvalInode(node uint64, offset, length int64) []byte {
	b := native.AppendUint64(nil, node)
	b = native.AppendUint64(b, uint64(offset))
	return native.AppendUint64(b, uint64(length))
}

func encodeInvalEntry(parent uint64, name string) []byte {
	b := native.AppendUint64(nil, parent)
	b = native.AppendUint32(b, uint32(len(name)))
	b = native.AppendUint32(b, 0)
	return appendName(b, name)
}

func encodeDelete(parent, child uint64, name string) []byte {
	b := native.AppendUint64(nil, parent)
	b = native.AppendUint64(b, child)
	b = native.AppendUint32(b, uint32(len(name)))
	b = native.AppendUint32(b, 0)
	return appendName(b, name)
}

// appendName adds the name and the NUL that the kernel expects but namelen
// does not count.
func appendName(b []byte, name string) []byte {
	return append(append(b, name...), 0)
}
