package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// newScratch makes an empty folder on the tmpfs below base.
func newScratch(base string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(base, &fs); err != nil {
		return "", &os.PathError{Op: "statfs", Path: base, Err: err}
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return "", fmt.Errorf("%s is not on a tmpfs", base)
	}
	return os.MkdirTemp(base, "airlockfs-bench-")
}

// removeScratch deletes the folder, unless something is still mounted in it:
// removing must never reach through a mount.
func removeScratch(dir string) error {
	points, err := mountPoints()
	if err != nil {
		return err
	}
	for _, point := range points {
		if strings.HasPrefix(point, dir+"/") {
			return fmt.Errorf("%s is still mounted; left in place", point)
		}
	}
	return os.RemoveAll(dir)
}
