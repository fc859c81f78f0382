package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Open is OPEN.
func (fs *FS) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if n := fs.desk.controlNode(in.NodeId); n != nil {
		fs.desk.awaitAll(cancel, in.Unique)
		defer fs.desk.awaitAll(cancel, in.Unique) // a claim that it tells to be over is over for its former owner, too
		return fs.openControl(n, in, out)
	}
	fs.desk.awaitNode(cancel, in.Unique, in.NodeId)
	p := fs.opener(&in.InHeader)
	flags := in.Flags &^ fmodeExec
	h, err := fs.desk.openPatiently(cancel, in.Unique, func(o *opening) (*handle, error) { return fs.desk.tryOpen(p, in.Pid, in.NodeId, flags, o) })
	if err != nil {
		return status(err)
	}
	out.Fh = h.id
	out.OpenFlags = openFlags(h)
	return fuse.OK
}

// fmodeExec is FMODE_EXEC, which execve adds to the flags of its open.
const fmodeExec = 0x20

// openFlags: what an open descriptor on unfinished bytes reads must come from us, because they may become another
// file's bytes (a derived version's first write); immutable and shared ones may be cached. Where locks bind, we are asked.
func openFlags(h *handle) uint32 {
	if h.kind() == lockHandle || h.records != nil || h.ofLockFile() {
		return fuse.FOPEN_DIRECT_IO
	}
	return 0
}

// Create is CREATE: open(2) with O_CREAT of a name the caller does not see.
func (fs *FS) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	p := fs.opener(&in.InHeader)
	c := fs.desk.call(protocol.OpCreate, p)
	c.mode, c.uid, c.gid = fs.desk.masked(in.NodeId, in.Mode, in.Umask)&0o7777, in.Uid, in.Gid
	h, err := fs.desk.create(p, in.Pid, in.NodeId, name, in.Flags, c)
	if err != nil {
		return status(err)
	}
	f, err := fs.desk.refer(h.node)
	if err != nil {
		fs.desk.release(h)
		return status(err)
	}
	entry(&out.EntryOut, f)
	out.Fh, out.OpenFlags = h.id, openFlags(h)
	return fuse.OK
}

// Read is READ.
func (fs *FS) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if b, ok := fs.readControl(in); ok {
		return fuse.ReadResultData(b), fuse.OK
	}
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return nil, status(err)
	}
	n, err := fs.desk.readRecord(h, reading(in), buf)
	return fuse.ReadResultData(buf[:n]), status(err)
}

// Write is WRITE. Pages of a shared mapping come without a caller.
func (fs *FS) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if in.Fh&controlFH != 0 {
		fs.desk.awaitAll(cancel, in.Unique)
		defer fs.desk.awaitAll(cancel, in.Unique) // whose claim an order has ended can't read what the kernel still kept
		return fs.writeControl(in, data)
	}
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return 0, status(err)
	}
	var p *protocol.Party
	if in.Pid != 0 && h.lastTID.Swap(in.Pid) != in.Pid {
		p = fs.who(&in.InHeader)
	}
	if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		if err = fs.desk.killPriv(h); err != nil {
			return 0, status(err)
		}
	}
	n, err := fs.desk.writeRecord(h, writing(in), p, data, in.WriteFlags&fuse.WRITE_CACHE != 0)
	return uint32(n), status(err)
}

// Flush is FLUSH: one close(2) of a descriptor. A process that exits waits for the answer too, so it is never waited
// for here.
func (fs *FS) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return fuse.OK
	}
	p, v := fs.desk.Callers.Closing(in.Pid, in.Uid, in.Gid)
	if fs.desk.owesBytes(h) {
		fs.desk.handOn(in.Unique)
	}
	return status(fs.desk.flush(h, p, v, in.LockOwner))
}

// Release is RELEASE: the end of an open file description.
func (fs *FS) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	if fs.releaseControl(in.Fh) {
		return
	}
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return
	}
	if releaseDelay > 0 || fs.desk.owesBytes(h) {
		fs.desk.announceRelease(h)
		fs.desk.handOn(in.Unique)
		time.Sleep(releaseDelay)
	}
	fs.desk.release(h)
}

// Fsync is FSYNC.
func (fs *FS) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return status(err)
	}
	return status(fs.desk.fsync(h))
}

// Fallocate is FALLOCATE.
func (fs *FS) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return status(err)
	}
	if in.Uid != 0 { // the kernel says it with WRITE, not with this
		if err = fs.desk.killPriv(h); err != nil {
			return status(err)
		}
	}
	return status(fs.desk.allocateRecord(h, calling(&in.InHeader), in.Mode, int64(in.Offset), int64(in.Length)))
}

// Lseek is LSEEK: SEEK_DATA and SEEK_HOLE.
func (fs *FS) Lseek(cancel <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	h, err := fs.desk.handle(in.Fh)
	if err != nil {
		return status(err)
	}
	f, err := h.source()
	if err != nil {
		return status(err)
	}
	off, err := f.SeekHole(int64(in.Offset), int(in.Whence))
	out.Offset = uint64(off)
	return status(err)
}

// GetLk is F_GETLK.
func (fs *FS) GetLk(cancel <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	l, met, err := fs.desk.testLock(fs.lockRequest(in))
	if err != nil {
		return status(err)
	}
	out.Lk = in.Lk
	if !met {
		out.Lk.Typ = unix.F_UNLCK
		return fuse.OK
	}
	out.Lk = fuse.FileLock{Start: l.Start, End: l.End, Typ: unix.F_RDLCK, Pid: uint32(l.PID)}
	if l.Mode == protocol.WriteLock {
		out.Lk.Typ = unix.F_WRLCK
	}
	return fuse.OK
}

// SetLk is F_SETLK, F_OFD_SETLK and flock(LOCK_NB).
func (fs *FS) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	fs.desk.awaitNode(cancel, in.Unique, in.NodeId)
	return status(fs.desk.usedUp(in.Unique, fs.lockRequest(in), func(r lockRequest) error { return fs.desk.setLock(cancel, in.Unique, r) }))
}

// SetLkw is F_SETLKW, F_OFD_SETLKW and flock.
func (fs *FS) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	fs.desk.awaitNode(cancel, in.Unique, in.NodeId)
	return status(fs.desk.usedUp(in.Unique, fs.lockRequest(in), func(r lockRequest) error { return fs.desk.waitLockOf(cancel, in.Unique, r) }))
}

func (fs *FS) lockRequest(in *fuse.LkIn) lockRequest {
	p := fs.who(&in.InHeader)
	return lockRequest{handle: in.Fh, tid: in.Pid, uid: in.Uid, unlock: in.Lk.Typ == unix.F_UNLCK, lock: protocol.Lock{
		Kind: lockKind(in.LkFlags), Mode: lockMode(in.Lk.Typ), Owner: in.Owner, Handle: in.Fh,
		Start: in.Lk.Start, End: in.Lk.End, By: p.ID, PID: p.Process.PID, Since: fs.desk.Now(),
	}}
}

// timeOf is a time of SETATTR, nil if it is not to be changed.
func timeOf(t time.Time, ok bool) *unix.Timespec {
	if !ok {
		return nil
	}
	ts := unix.NsecToTimespec(t.UnixNano())
	return &ts
}
