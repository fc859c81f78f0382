package checkup

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
)

// registry reads the keys of folders: symlinks KEY → path, relative to the backing.
func (c *checkup) registry() {
	if !c.isArea(foldersArea) {
		return
	}
	owner := map[string]string{}
	for _, name := range c.list(inControl(foldersArea)) {
		if path, ok := c.registered(name); ok {
			c.register(name, path, owner)
		}
	}
}

// registered is what a registry entry says, if it is one.
func (c *checkup) registered(name string) (path string, ok bool) {
	st, where, ok := c.stat(inControl(foldersArea), name)
	switch {
	case !ok:
		return "", false
	case isDraft(name):
		c.find("registry-draft", where, "a rename of the folder was interrupted")
		return "", false
	case name == "0":
		c.find("registry-root", where, "the key 0 is taken")
		return "", false
	case !isKey(name):
		c.find("registry-stray", where, "it is no key of a folder")
		return "", false
	case st.Mode&unix.S_IFMT != unix.S_IFLNK:
		c.find("registry-not-symlink", where, "a key must be a symbolic link")
		return "", false
	}
	path, err := c.store.Readlink(backing.Object{Folder: inControl(foldersArea), Name: name})
	return path, !c.failed(where, err)
}

// isKey tells whether a name is a number to the base of 36, as keys are written.
func isKey(name string) bool {
	n, err := strconv.ParseUint(name, 36, 64)
	return err == nil && strconv.FormatUint(n, 36) == name
}

// isDraft tells whether a name is that of an entry for a folder that is about to move: KEY.INODE.new. Versions before
// wrote no inode.
func isDraft(name string) bool {
	name, ok := strings.CutSuffix(name, ".new")
	key, inode, has := strings.Cut(name, ".")
	_, err := strconv.ParseUint(inode, 10, 64)
	return ok && isKey(key) && (err == nil || !has)
}

// register takes a key over if its folder is there.
func (c *checkup) register(key, path string, owner map[string]string) {
	where := inControl(foldersArea) + "/" + key
	if !staysBelow(path) {
		c.find("registry-escapes", where, "its path %q is no folder of the backing", path)
		return
	}
	if first, taken := owner[path]; taken {
		c.find("registry-twice", where, "the keys %s and %s mean the same folder %q", first, key, path)
	}
	owner[path] = key
	folder, name := split(path)
	st, err := c.store.Stat(backing.Object{Folder: folder, Name: name})
	switch {
	case errors.Is(err, syscall.ENOENT):
		c.find("registry-missing", where, "its folder %q is gone", path)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), err == nil && !st.IsFolder():
		c.find("registry-not-folder", where, "%q is no folder", path)
	case !c.failed(where, err):
		c.keys[key] = path
	}
}

// staysBelow tells whether a path is clean, relative, and not of the control folder.
func staysBelow(path string) bool {
	parts := strings.Split(path, "/")
	bad := func(part string) bool { return part == "" || part == "." || part == ".." }
	return !slices.ContainsFunc(parts, bad) && parts[0] != backing.Control
}

func split(path string) (folder, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
