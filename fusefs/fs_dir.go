package fusefs

import (
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// listings are the open folder descriptors.
type listings struct {
	mu    *sync.Mutex
	byFH  map[uint64]*listing
	names map[uint32]int // that are kept, by user
	last  uint64
}

func newListings() listings {
	return listings{mu: &sync.Mutex{}, byFH: map[uint64]*listing{}, names: map[uint32]int{}}
}

func (l *listings) open(folder *node) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.byFH[l.last] = &listing{folder: folder}
	return l.last
}

func (l *listings) get(fh uint64) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byFH[fh]
}

func (l *listings) close(fh uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.byFH[fh]; x != nil {
		l.countLocked(x, 0)
	}
	delete(l.byFH, fh)
}

// keep has a listing that was just taken count for its reader. It fails, and forgets the names, if he keeps too many.
func (l *listings) keep(x *listing, uid uint32, most int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countLocked(x, 0)
	if x.uid = uid; l.names[uid]+x.names.count > most {
		x.names, x.taken = packed{}, false
		return syscall.ENFILE
	}
	l.countLocked(x, x.names.count)
	return nil
}

func (l *listings) countLocked(x *listing, names int) {
	if l.names[x.uid] += names - x.counted; l.names[x.uid] == 0 {
		delete(l.names, x.uid)
	}
	x.counted = names
}

// OpenDir is OPENDIR.
func (fs *FS) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if n := fs.desk.controlNode(in.NodeId); n != nil {
		out.Fh = fs.listings.open(n)
		return fuse.OK
	}
	fs.looker(&in.InHeader) // what is listed depends on who looks
	fs.desk.mu.Lock()
	defer fs.desk.mu.Unlock()
	n, err := fs.desk.nodeLocked(in.NodeId)
	if err != nil {
		return status(err)
	}
	out.Fh = fs.listings.open(n)
	return fuse.OK
}

// ReadDir is READDIR. Offsets are positions in the listing that was taken at offset 0.
func (fs *FS) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	l := fs.listings.get(in.Fh)
	if l == nil {
		return fuse.EBADF
	}
	if l.folder.kind == controlNode {
		return fuse.OK
	}
	if in.Offset == 0 || !l.taken {
		fs.desk.awaitReleases(cancel, in.Unique, l.folder)
		if err := fs.desk.list(fs.who(&in.InHeader), l); err != nil {
			return status(err)
		}
		if err := fs.listings.keep(l, in.Uid, fs.desk.mostNamesOf(in.Uid)); err != nil {
			return status(err)
		}
	}
	return fill(out, l, in.Offset)
}

// fill encodes entries until the answer is full; "." and ".." come first.
func fill(out *fuse.DirEntryList, l *listing, from uint64) fuse.Status {
	for e, ok := l.at(from); ok && out.AddDirEntry(e); e, ok = l.at(e.Off) {
	}
	return fuse.OK
}

// at is the entry at an offset, with that of the next.
func (l *listing) at(off uint64) (e fuse.DirEntry, ok bool) {
	switch off {
	case 0:
		return fuse.DirEntry{Name: ".", Mode: unix.S_IFDIR, Ino: l.self, Off: 1}, true
	case 1:
		return fuse.DirEntry{Name: "..", Mode: unix.S_IFDIR, Ino: l.parent, Off: 2}, true
	}
	e, ok = l.names.at(off - 2)
	e.Off += 2
	return e, ok
}

// ReleaseDir is RELEASEDIR.
func (fs *FS) ReleaseDir(in *fuse.ReleaseIn) { fs.listings.close(in.Fh) }

// FsyncDir is FSYNCDIR.
func (fs *FS) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if l := fs.listings.get(in.Fh); l != nil && l.folder.kind == folderNode {
		fs.desk.awaitReleases(cancel, in.Unique, l.folder) // who has closed a file, then syncs its folder, means its name, too
	}
	return status(fs.desk.syncFolder(in.NodeId))
}

// GetXAttr is GETXATTR.
func (fs *FS) GetXAttr(cancel <-chan struct{}, h *fuse.InHeader, name string, buf []byte) (uint32, fuse.Status) {
	n, err := fs.desk.getxattr(fs.who(h), h.NodeId, name, buf)
	return uint32(n), status(err)
}

// SetXAttr is SETXATTR.
func (fs *FS) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, name string, value []byte) fuse.Status {
	return status(fs.desk.setxattr(fs.who(&in.InHeader), in.NodeId, name, value, int(in.Flags)))
}

// RemoveXAttr is REMOVEXATTR.
func (fs *FS) RemoveXAttr(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(fs.desk.removexattr(fs.who(h), h.NodeId, name))
}

// ListXAttr is LISTXATTR.
func (fs *FS) ListXAttr(cancel <-chan struct{}, h *fuse.InHeader, buf []byte) (uint32, fuse.Status) {
	names, err := fs.desk.listxattr(fs.who(h), h.NodeId)
	if err != nil {
		return 0, status(err)
	}
	if len(buf) > 0 && len(names) > len(buf) {
		return 0, fuse.ERANGE
	}
	copy(buf, names)
	return uint32(len(names)), fuse.OK
}
