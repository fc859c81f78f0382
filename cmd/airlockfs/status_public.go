package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

const (
	stateAttr = "user.airlockfs.state"
	holdsAttr = "user.airlockfs.holds" // STATE by WHOM since WHEN
)

// withPublic adds the public files of a mount. They are found by listing and lstat alone: an open would claim them.
func withPublic(root string, items []report.Item) ([]report.Item, error) {
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return skipUnreadable(err)
		}
		if i, ok := visiblyPublic(root, path, e); ok {
			items = append(items, i)
		}
		return nil
	})
	slices.SortStableFunc(items, func(a, b report.Item) int { return strings.Compare(a.Path, b.Path) })
	return items, err
}

// skipUnreadable leaves out folders that the user may not list, or that have gone.
func skipUnreadable(err error) error {
	if err != nil {
		return fs.SkipDir
	}
	return nil
}

// visiblyPublic is a file under its name, unless the name means something unfinished or claimed to this caller.
func visiblyPublic(root, path string, e fs.DirEntry) (report.Item, bool) {
	info, err := e.Info()
	if err != nil || xattr(path, stateAttr) != "published" {
		return report.Item{}, false
	}
	relative, _ := filepath.Rel(root, path) // both are absolute
	i := publicItem(relative, info)
	i.Attempts = attemptsOn(path)
	return i, true
}

// attemptsOn is how many claims on what the caller sees under a name ended badly.
func attemptsOn(path string) int {
	n, _ := strconv.Atoi(xattr(path, "user.airlockfs.attempts")) // without the attribute: 0
	return n
}

// xattr is a short extended attribute, "" if there is none.
func xattr(path, name string) string {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(path, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}
