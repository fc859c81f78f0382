package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// checkMountable finds what keeps a mount from coming, before anything is written to the backing. What only the kernel
// can say comes later; the backing is left as it was then too (openBacking, withdraw).
func checkMountable(from, at string) error {
	if err := checkDevice(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		if err := checkHelper(); err != nil {
			return err
		}
		if unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil {
			return failf(exitMount, "this user may not open /dev/fuse: let root allow it (chmod 666 /dev/fuse, or an ACL), as most distributions do")
		}
	}
	if err := checkNoMount(from, at); err != nil {
		return err
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	return checkNesting(mounts, from, at)
}

func checkDevice() error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return failf(exitMount, "there is no /dev/fuse: load the kernel's module (modprobe fuse), or give this container the device")
	}
	return nil
}

// checkHelper asks for what mounts for users other than root.
func checkHelper() error {
	if _, err := exec.LookPath("fusermount3"); err != nil {
		return failf(exitMount, "mounting needs root: run it with sudo; or install the package fuse3, whose fusermount3 mounts for other users")
	}
	if err := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK); err != nil { // fusermount3 opens it as its caller
		return failf(exitMount, "this user can't use /dev/fuse: %w: mount as root, or let root give the user the device", err)
	}
	return nil
}

// checkNoMount refuses a mount of ours as the backing. One that lies on its own backing and whose daemon died is taken
// away: it is replaced, and hides the folder that is to be mounted.
func checkNoMount(from, at string) error {
	m, err := findMount(from)
	if err != nil {
		return nil // it is on no mount of ours
	}
	_, err = m.facts()
	dead := errors.Is(err, syscall.ENOTCONN)
	same := sameFolder(m.root, at)
	switch {
	case dead && same:
		return unmount(m.root, true)
	case dead:
		return failf(exitBacking, "the backing %s is on the mount %s, whose daemon died: airlockfs umount %s first", show.Name(from), show.Name(m.root), show.Argument(m.root))
	case same:
		return failf(exitMount, "%s is mounted already: use it, or airlockfs umount %s first", show.Name(m.root), show.Argument(m.root))
	}
	return failf(exitBacking, "the backing %s is on the airlockfs mount %s: name a folder that no mount of airlockfs shows", show.Name(from), show.Name(m.root))
}

// sameFolder compares by name: a dead mount can't be asked.
func sameFolder(root, path string) bool {
	resolved, err := resolve(path)
	return err == nil && resolved == root
}

// isDead tells whether the mount on a folder is one of ours whose daemon died.
func isDead(at string) bool {
	m, err := findMount(at)
	if err != nil || m.path != "." {
		return false
	}
	_, err = m.facts()
	return errors.Is(err, unix.ENOTCONN)
}
