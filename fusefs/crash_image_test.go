package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// image is all that a folder holds at a moment, as a disk has it: inodes, and the names that folders give them.
type image struct {
	root   inodeID
	inodes map[inodeID]inode
}

// inodeID tells inodes apart for good: numbers are used again, births are not.
type inodeID struct {
	ino  uint64
	born int64
}

// inode is one of them. Owners and times are left out: no rule depends on them.
type inode struct {
	mode    uint32
	data    string // of a file its bytes, of a symlink what it says
	attrs   string // extended attributes, "name=value" joined by NUL
	entries map[string]inodeID
}

// imageOf takes the image of a folder.
func imageOf(t *testing.T, dir string) image {
	m := image{inodes: map[inodeID]inode{}}
	m.root = m.take(t, dir)
	return m
}

func (m *image) take(t *testing.T, path string) inodeID {
	id, x := statx(t, path)
	if _, known := m.inodes[id]; known {
		return id
	}
	n := inode{mode: uint32(x.Mode)}
	var err error
	switch n.mode & unix.S_IFMT {
	case unix.S_IFREG:
		var b []byte
		b, err = os.ReadFile(path)
		n.data, n.attrs = string(b), attrsOf(t, path)
	case unix.S_IFLNK:
		n.data, err = os.Readlink(path)
	case unix.S_IFDIR:
		n.entries = map[string]inodeID{}
		var list []os.DirEntry
		list, err = os.ReadDir(path)
		for _, e := range list {
			n.entries[e.Name()] = m.take(t, filepath.Join(path, e.Name()))
		}
	}
	require.NoError(t, err)
	m.inodes[id] = n
	return id
}

func identity(t *testing.T, path string) inodeID {
	id, _ := statx(t, path)
	return id
}

func statx(t *testing.T, path string) (id inodeID, x unix.Statx_t) {
	require.NoError(t, unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &x))
	return inodeID{x.Ino, x.Btime.Sec*1e9 + int64(x.Btime.Nsec)}, x
}

// attrsOf are the attributes of users.
func attrsOf(t *testing.T, path string) string {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buf)
	require.NoError(t, err)
	var all []string
	for _, name := range strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 }) {
		if strings.HasPrefix(name, "user.") {
			value := make([]byte, 4096)
			n, err := unix.Lgetxattr(path, name, value)
			require.NoError(t, err)
			all = append(all, name+"="+string(value[:n]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// lay makes an empty folder hold the image.
func (m *image) lay(t *testing.T, dir string) {
	require.NoError(t, os.Chmod(dir, os.FileMode(m.inodes[m.root].mode&0o777)))
	laid := map[inodeID]string{}
	m.walk("", m.root, func(path string, id inodeID, n inode) {
		path = filepath.Join(dir, path)
		if first, again := laid[id]; again {
			require.NoError(t, os.Link(first, path))
			return
		}
		laid[id] = path
		switch n.mode & unix.S_IFMT {
		case unix.S_IFDIR:
			require.NoError(t, os.Mkdir(path, os.FileMode(n.mode&0o777)))
		case unix.S_IFLNK:
			require.NoError(t, os.Symlink(n.data, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(n.data), os.FileMode(n.mode&0o777)))
			for _, attr := range strings.FieldsFunc(n.attrs, func(r rune) bool { return r == 0 }) {
				name, value, _ := strings.Cut(attr, "=")
				require.NoError(t, unix.Lsetxattr(path, name, []byte(value), 0))
			}
		}
	})
}

// walk visits everything below a folder, in order of names, folders before what is in them.
func (m *image) walk(path string, folder inodeID, visit func(path string, id inodeID, n inode)) {
	entries := m.inodes[folder].entries
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		id := entries[name]
		below := strings.TrimPrefix(path+"/"+name, "/")
		visit(below, id, m.inodes[id])
		if m.inodes[id].entries != nil {
			m.walk(below, id, visit)
		}
	}
}

// find is the inode under a path, if it has one.
func (m *image) find(path string) (inodeID, bool) {
	id := m.root
	for _, name := range strings.Split(path, "/") {
		if name == "" {
			continue
		}
		next, ok := m.inodes[id].entries[name]
		if !ok {
			return inodeID{}, false
		}
		id = next
	}
	return id, true
}

// key is the same for images that a program can't tell apart.
func (m *image) key() string {
	var b strings.Builder
	seen := map[inodeID]int{}
	m.walk("", m.root, func(path string, id inodeID, n inode) {
		if seen[id] == 0 {
			seen[id] = len(seen) + 1
		}
		fmt.Fprintf(&b, "%q %d %o %q %q\n", path, seen[id], n.mode, n.data, n.attrs)
	})
	return b.String()
}
