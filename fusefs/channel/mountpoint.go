package channel

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// folder is a folder held by an O_PATH descriptor, so that what is examined is
// what is mounted on.
type folder struct {
	fd      int
	path    string // absolute, without symbolic links
	mountID int    // of the mount that the folder is on, or whose root it is
}

// openFolder opens a mountpoint without asking the filesystem that may be
// mounted there.
func openFolder(path string) (*folder, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	f := &folder{fd: fd}
	if f.path, err = os.Readlink(f.procPath()); err == nil {
		f.mountID, err = descriptorMountID(fd)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("mountpoint %s: %w (is /proc mounted?)", path, err)
	}
	return f, nil
}

func explainOpen(path string, err error) error {
	switch err {
	case unix.ENOENT:
		return fmt.Errorf("mountpoint %s does not exist: create it with mkdir", path)
	case unix.ENOTDIR:
		return fmt.Errorf("mountpoint %s is not a folder: give the path of a folder", path)
	case unix.ENOTCONN:
		return fmt.Errorf("mountpoint %s is below a FUSE mount whose daemon died: unmount that one first (umount -l)", path)
	}
	return fmt.Errorf("mountpoint %s: %w", path, err)
}

func (f *folder) procPath() string { return fmt.Sprintf("/proc/self/fd/%d", f.fd) }

func (f *folder) close() { _ = unix.Close(f.fd) }

// alive asks the filesystem for the folder's attributes. ENOTCONN means that
// it is a FUSE filesystem without a daemon.
func (f *folder) alive() error {
	var st unix.Statx_t
	return unix.Statx(f.fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &st)
}

// claimMountpoint opens a folder that can be mounted on. Mounts of our own
// type whose daemon died are detached, however many are stacked.
func claimMountpoint(path string, o Options, m mounter) (*folder, error) {
	for {
		f, err := openFolder(path)
		if err != nil {
			return nil, err
		}
		stale, err := examine(f, o)
		if err == nil && !stale {
			return f, nil
		}
		f.close()
		if err == nil {
			err = m.unmount(f.path, true)
		}
		if err != nil {
			return nil, err
		}
	}
}

// examine reports whether the folder is the root of a dead mount of our type;
// any other FUSE mount in the way is an error.
func examine(f *folder, o Options) (stale bool, err error) {
	m, err := findMount(f.mountID)
	if err != nil {
		return false, err
	}
	isFUSE := m.fsType == "fuse" || strings.HasPrefix(m.fsType, "fuse.")
	if m.mountpoint != f.path || !isFUSE {
		return false, nil
	}
	dead, ours := f.alive() == unix.ENOTCONN, m.fsType == o.filesystemType()
	switch {
	case dead && ours:
		o.Log.Warn("detaching the mount of a daemon that died", "mountpoint", f.path, "source", m.source)
		return true, nil
	case dead:
		return false, fmt.Errorf("mountpoint %s has a %s mount whose daemon died: unmount it first (umount -l %s)", f.path, m.fsType, f.path)
	case ours:
		return false, fmt.Errorf("mountpoint %s already has a living %s mount of %s: use that one, or unmount it first (umount %s)", f.path, o.Subtype, m.source, f.path)
	}
	return false, nil
}
