package backing

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Object is a place in the backing. Folder is a clean path relative to the
// root ("" is the root itself), Name is one component: any bytes but '/' and
// NUL. An empty Name means the folder itself where a method allows it.
type Object struct {
	Folder string
	Name   string
}

// String is the path below the root, quoted where it would not print.
func (o Object) String() string {
	path := o.Folder
	switch {
	case o.Name == "" && path == "":
		path = "."
	case path == "":
		path = o.Name
	case o.Name != "":
		path += "/" + o.Name
	}
	return printable(path)
}

func printable(path string) string {
	if quoted := strconv.Quote(path); len(quoted) != len(path)+2 {
		return quoted
	}
	return path
}

// checkName refuses what is not exactly one component below a folder; ".."
// would climb out of it, and out of a covered backing into the mount.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return unix.EINVAL
	}
	return nil
}

// checkFolder refuses a path that is not clean.
func checkFolder(path string) error {
	if path == "" {
		return nil
	}
	for part := range strings.SplitSeq(path, "/") {
		if err := checkName(part); err != nil {
			return err
		}
	}
	return nil
}

// isBelowControl tells whether a folder is the control folder or lies in it.
func isBelowControl(folder string) bool {
	return folder == Control || strings.HasPrefix(folder, Control+"/")
}
