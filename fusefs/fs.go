package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// FS answers the kernel's requests. Each method decodes one request, makes one call to the desk, and encodes the answer.
//
// Not implemented, on purpose: Access (default_permissions makes the kernel check), Statx and Ioctl and Poll (the kernel
// does without), ReadDirPlus (not negotiated: entries differ between callers).
type FS struct {
	fuse.RawFileSystem
	desk     *desk
	listings listings
}

func newFS(d *desk) *FS {
	return &FS{RawFileSystem: fuse.NewDefaultRawFileSystem(), desk: d, listings: newListings()}
}

func (fs *FS) String() string { return "airlockfs" }

// who is the party of a request.
func (fs *FS) who(h *fuse.InHeader) *protocol.Party {
	return fs.desk.Callers.Who(h.Pid, h.Uid, h.Gid)
}

// looker is the party of a look-up, or of who opens a folder to list it. Where observers are known by their program file it must be known here already.
func (fs *FS) looker(h *fuse.InHeader) *protocol.Party {
	if fs.desk.knowsPrograms {
		return fs.opener(h)
	}
	return fs.who(h)
}

func (fs *FS) opener(h *fuse.InHeader) *protocol.Party {
	return fs.desk.Callers.Opener(h.Pid, h.Uid, h.Gid)
}

// mover is the party of a call that makes or moves a name: that may be a claim, or a mark.
func (fs *FS) mover(h *fuse.InHeader) *protocol.Party {
	return fs.desk.Callers.Mover(h.Pid, h.Uid, h.Gid)
}

// entry encodes a node as the answer to a look-up. Names of files are never cached: what they mean differs between
// callers. Folders are the same for all, so a path costs one look-up, not one a step.
func entry(out *fuse.EntryOut, f found) {
	out.NodeId, out.Generation = f.node.id, 0
	out.SetEntryTimeout(0)
	if f.node.kind == folderNode {
		out.SetEntryTimeout(f.name)
	}
	out.SetAttrTimeout(f.valid)
	attr(&out.Attr, f.stat)
}

func attr(out *fuse.Attr, st backing.Stat) {
	out.Ino, out.Size, out.Blocks, out.Blksize = st.ID.Ino, uint64(st.Size), st.Blocks, uint32(st.Blksize)
	out.Mode, out.Nlink, out.Uid, out.Gid, out.Rdev = st.Mode, st.Nlink, st.UID, st.GID, uint32(st.Rdev)
	out.Atime, out.Atimensec = uint64(st.Atime.Sec), uint32(st.Atime.Nsec)
	out.Mtime, out.Mtimensec = uint64(st.Mtime.Sec), uint32(st.Mtime.Nsec)
	out.Ctime, out.Ctimensec = uint64(st.Ctime.Sec), uint32(st.Ctime.Nsec)
}

// Lookup is LOOKUP: each step of a path, each time.
func (fs *FS) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if n := fs.desk.controlEntry(h.NodeId, name); n != nil {
		entry(out, fs.desk.controlFound(n))
		return fuse.OK
	}
	fs.desk.awaitRelease(cancel, h.Unique, h.NodeId, name)
	f, err := fs.desk.lookup(fs.looker(h), h.Pid, h.NodeId, name)
	if err != nil {
		return status(err)
	}
	entry(out, f)
	return fuse.OK
}

// Forget is FORGET and each part of BATCH_FORGET.
func (fs *FS) Forget(id, count uint64) { fs.desk.forget(id, count) }

// GetAttr is GETATTR.
func (fs *FS) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	f, err := fs.desk.getattr(fs.who(&in.InHeader), in.NodeId, fhOf(in.Flags()&fuse.FUSE_GETATTR_FH != 0, in.Fh()))
	if err != nil {
		return status(err)
	}
	out.SetTimeout(f.valid)
	attr(&out.Attr, f.stat)
	return fuse.OK
}

func fhOf(valid bool, fh uint64) uint64 {
	if valid {
		return fh
	}
	return 0
}

// SetAttr is SETATTR: chmod, chown, utimens, truncate, ftruncate.
func (fs *FS) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	fh, hasFh := in.GetFh()
	if in.Valid&fuse.FATTR_SIZE != 0 {
		fs.desk.handOn(in.Unique) // a version may be copied, and made durable
	}
	f, err := fs.desk.setattr(fs.opener(&in.InHeader), in.Pid, in.NodeId, fhOf(hasFh, fh), changeOf(in))
	if err != nil {
		return status(err)
	}
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		if err = fs.desk.killPrivNode(f.node.id); err != nil {
			return status(err)
		}
		f.stat.Mode = withoutPrivileges(f.stat.Mode)
	}
	out.SetTimeout(f.valid)
	attr(&out.Attr, f.stat)
	return fuse.OK
}

// Unlink is UNLINK.
func (fs *FS) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	fs.desk.mayLast(h.Unique)
	return status(fs.desk.unlink(fs.who(h), h.NodeId, name))
}

// Rmdir is RMDIR.
func (fs *FS) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	fs.desk.mayLast(h.Unique)
	return status(fs.desk.rmdir(fs.who(h), h.NodeId, name))
}

// Rename is RENAME and RENAME2.
func (fs *FS) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	a, b := backing.Object{Name: from}, backing.Object{Name: to}
	p := fs.mover(&in.InHeader)
	fs.desk.mayLast(in.Unique)
	return status(fs.desk.saveFirst(in.Unique, func() error { return fs.desk.rename(p, a, b, in.NodeId, in.Newdir, in.Flags) }))
}

// Link is LINK.
func (fs *FS) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	p := fs.mover(&in.InHeader)
	fs.desk.mayLast(in.Unique)
	var f found
	err := fs.desk.saveFirst(in.Unique, func() (err error) {
		f, err = fs.desk.link(p, in.Oldnodeid, in.NodeId, name)
		return err
	})
	if err != nil {
		return status(err)
	}
	entry(out, f)
	return fuse.OK
}

// Mkdir is MKDIR.
func (fs *FS) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	mode := fs.desk.masked(in.NodeId, in.Mode, in.Umask)
	return fs.made(&in.InHeader, name, out, func(at backing.Object) error {
		return fs.desk.Store.Mkdir(at, mode, in.Uid, in.Gid)
	})
}

// Mknod is MKNOD. A regular file made so is an empty item, complete at once.
func (fs *FS) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	mode := fs.desk.masked(in.NodeId, in.Mode, in.Umask)
	return fs.made(&in.InHeader, name, out, func(at backing.Object) error {
		return fs.desk.Store.Mknod(at, mode, in.Rdev, in.Uid, in.Gid)
	})
}

// Symlink is SYMLINK.
func (fs *FS) Symlink(cancel <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return fs.made(h, name, out, func(at backing.Object) error { return fs.desk.Store.Symlink(target, at, h.Uid, h.Gid) })
}

func (fs *FS) made(h *fuse.InHeader, name string, out *fuse.EntryOut, create maker) fuse.Status {
	fs.desk.mayLast(h.Unique)
	f, err := fs.desk.make(fs.mover(h), h.NodeId, name, create)
	if err != nil {
		return status(err)
	}
	entry(out, f)
	return fuse.OK
}

// Readlink is READLINK.
func (fs *FS) Readlink(cancel <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := fs.desk.readlink(h.NodeId)
	return []byte(target), status(err)
}

// StatFs is STATFS: the backing's space is the mount's.
func (fs *FS) StatFs(cancel <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	st, err := fs.desk.Store.StatFS()
	if err != nil {
		return status(err)
	}
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree
	out.Bsize, out.NameLen, out.Frsize = uint32(st.Bsize), uint32(st.Namelen), uint32(st.Frsize)
	return fuse.OK
}

func changeOf(in *fuse.SetAttrIn) change {
	ch := change{uid: -1, gid: -1}
	if m, ok := in.GetMode(); ok {
		ch.mode = &m
	}
	if u, ok := in.GetUID(); ok {
		ch.uid = int(u)
	}
	if g, ok := in.GetGID(); ok {
		ch.gid = int(g)
	}
	if s, ok := in.GetSize(); ok {
		ch.size = &s
	}
	ch.atime = timeOf(in.GetATime())
	ch.mtime = timeOf(in.GetMTime())
	return ch
}
