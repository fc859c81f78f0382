package channel

import (
	"errors"
	"fmt"
	"os"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mounter is the way to mount and unmount: mount(2) for root, fusermount3(1)
// for everybody else.
type mounter interface {
	// mount returns the device of the new connection, close-on-exec: a copy in
	// another process would keep a dead mount's callers waiting.
	mount(on *folder, o Options) (device *os.File, err error)
	unmount(path string, lazy bool) error
}

// errOnlyMounter: nobody but who mounts may be let in.
var errOnlyMounter = errors.New("the mount can't be opened to others")

func newMounter() mounter {
	if os.Geteuid() == 0 {
		return systemMounter{device: "/dev/fuse"}
	}
	return helperMounter{}
}

// Mount mounts fs on a folder and negotiates the protocol. Where AllowOther is
// not allowed it mounts without. Requests wait until
// [Conn.Serve] runs; it must be called even if an Unmount comes first. A mount
// of the same type whose daemon died is replaced. Errors are sentences for the
// user.
func Mount(fs fuse.RawFileSystem, mountpoint string, o Options) (*Conn, error) {
	return mountWith(newMounter(), fs, mountpoint, o.withDefaults())
}

func mountWith(m mounter, fs fuse.RawFileSystem, mountpoint string, o Options) (*Conn, error) {
	f, err := claimMountpoint(mountpoint, o, m)
	if err != nil {
		return nil, err
	}
	defer f.close()
	device, err := m.mount(f, o)
	if errors.Is(err, errOnlyMounter) {
		o.AllowOther = false
		device, err = m.mount(f, o)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot mount on %s: %w", f.path, err)
	}
	c := newConn(fs, device, o)
	c.mounter, c.mountpoint = m, f.path
	if err := c.begin(); err != nil {
		return nil, errors.Join(err, m.unmount(f.path, true), device.Close())
	}
	return c, nil
}

// OnlyMounter tells whether the kernel lets nobody in but the user who mounted, though AllowOther was asked for: not even
// root.
func (c *Conn) OnlyMounter() bool { return !c.options.AllowOther }

func (c *Conn) begin() error {
	f, err := openFolder(c.mountpoint)
	if err != nil {
		return err
	}
	defer f.close()
	if c.mount, err = findMount(f.mountID); err != nil {
		return err
	}
	return c.negotiate()
}

// Unmount ends the mount. With open files in it the kernel refuses (EBUSY),
// unless lazy is set: then the mount disappears at once and the connection ends
// with the last of them. It is no error if the mount is gone already.
func (c *Conn) Unmount(lazy bool) error {
	path, err := c.findMountpoint()
	if path == "" || err != nil {
		return err
	}
	return c.mounter.unmount(path, lazy)
}

// Abort ends the connection and the mount at once, unless the mount is gone
// already. Requests under way fail with ECONNABORTED, and later uses of files
// that are still open with ENOTCONN. It needs root.
func (c *Conn) Abort() error {
	path, err := c.findMountpoint()
	if path == "" || err != nil {
		return err
	}
	if err := unix.Unmount(path, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("cannot abort the mount on %s: %w", path, err)
	}
	return nil
}

// findMountpoint is the path by which the mount can be unmounted, or "" if it
// is gone. A mount id is used again at once, but the filesystem's device number
// not before the connection has ended.
func (c *Conn) findMountpoint() (string, error) {
	select {
	case <-c.ended:
		return "", nil
	default:
	}
	m, err := findMount(c.mount.id)
	if err == errNoMount || err == nil && m.device != c.mount.device {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.mountpoint, c.checkOnTop(m.mountpoint)
}

func (c *Conn) checkOnTop(path string) error {
	f, err := openFolder(path)
	if err != nil {
		return err
	}
	f.close()
	if f.mountID != c.mount.id {
		return fmt.Errorf("another filesystem is mounted over %s: unmount that one first", path)
	}
	return nil
}
