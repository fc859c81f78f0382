package channel

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// systemMounter uses mount(2), which needs CAP_SYS_ADMIN.
type systemMounter struct {
	device string // path of the FUSE device
}

// mountFlags are the options that mount(2) takes as bits; all others are text.
var mountFlags = map[string]uintptr{
	"ro":          unix.MS_RDONLY,
	"nosuid":      unix.MS_NOSUID,
	"nodev":       unix.MS_NODEV,
	"noexec":      unix.MS_NOEXEC,
	"noatime":     unix.MS_NOATIME,
	"nodiratime":  unix.MS_NODIRATIME,
	"relatime":    unix.MS_RELATIME,
	"strictatime": unix.MS_STRICTATIME,
	"sync":        unix.MS_SYNCHRONOUS,
	"dirsync":     unix.MS_DIRSYNC,
	"nosymfollow": unix.MS_NOSYMFOLLOW,
}

func (m systemMounter) mount(on *folder, o Options) (*os.File, error) {
	fd, err := unix.Open(m.device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, m.explainDevice(err)
	}
	flags, data := mountArguments(fd, o)
	if err := unix.Mount(o.Source, on.procPath(), o.filesystemType(), flags, data); err != nil {
		_ = unix.Close(fd)
		return nil, explainMount(err, o)
	}
	return os.NewFile(uintptr(fd), m.device), nil
}

// mountArguments are the flags and the text for mount(2). The kernel itself
// wants fd, rootmode, user_id and group_id (fs/fuse/inode.c).
func mountArguments(fd int, o Options) (flags uintptr, data string) {
	text := []string{
		fmt.Sprintf("fd=%d", fd),
		fmt.Sprintf("rootmode=%o", unix.S_IFDIR),
		fmt.Sprintf("user_id=%d", os.Geteuid()),
		fmt.Sprintf("group_id=%d", os.Getegid()),
	}
	for _, option := range o.mountOptions() {
		if bit, ok := mountFlags[option]; ok {
			flags |= bit
			continue
		}
		text = append(text, option)
	}
	return flags, strings.Join(text, ",")
}

// mountOptions are the options that do not depend on who mounts. READs are
// limited to MaxWrite because reply buffers are of that size.
func (o Options) mountOptions() []string {
	options := []string{"nosuid", "nodev", "default_permissions", fmt.Sprintf("max_read=%d", o.MaxWrite)}
	if o.AllowOther {
		options = append(options, "allow_other")
	}
	if o.ReadOnly {
		options = append(options, "ro")
	}
	return append(options, o.MountOptions...)
}

func (m systemMounter) explainDevice(err error) error {
	switch err {
	case unix.ENOENT, unix.ENODEV, unix.ENXIO:
		return fmt.Errorf("there is no %s: load the kernel module (modprobe fuse) or pass the device into the container (--device /dev/fuse)", m.device)
	case unix.EACCES, unix.EPERM:
		return fmt.Errorf("%s may not be opened: allow it to this user or container (--device /dev/fuse)", m.device)
	}
	return fmt.Errorf("opening %s: %w", m.device, err)
}

func explainMount(err error, o Options) error {
	switch err {
	case unix.EPERM:
		return fmt.Errorf("mount(2) is not permitted: run with CAP_SYS_ADMIN, or as another user with fusermount3")
	case unix.EINVAL:
		return fmt.Errorf("the kernel refused the mount options %q: the kernel log may say which one", strings.Join(o.mountOptions(), ","))
	case unix.ENODEV:
		return fmt.Errorf("the kernel has no FUSE: load its module (modprobe fuse)")
	}
	return fmt.Errorf("mount(2): %w", err)
}

func (systemMounter) unmount(path string, lazy bool) error {
	flags := unix.UMOUNT_NOFOLLOW
	if lazy {
		flags |= unix.MNT_DETACH
	}
	switch err := unix.Unmount(path, flags); err {
	case nil:
		return nil
	case unix.EBUSY:
		return fmt.Errorf("cannot unmount %s: files in it are open (fuser -vm %s shows by whom); close them, or unmount lazily: %w", path, path, err)
	default:
		return fmt.Errorf("cannot unmount %s: %w", path, err)
	}
}
