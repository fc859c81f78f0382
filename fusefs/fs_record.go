package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

const (
	readLockOwner  = 1 << 1 // FUSE_READ_LOCKOWNER
	writeLockOwner = 1 << 1 // FUSE_WRITE_LOCKOWNER
)

// reading is a READ as a use of bytes. Only those for a program's own buffer name an owner of locks; others are for the
// page cache.
func reading(in *fuse.ReadIn) byteUse {
	u := calling(&in.InHeader)
	u.Start, u.NonBlocking = in.Offset, in.Flags&unix.O_NONBLOCK != 0
	if in.ReadFlags&readLockOwner != 0 {
		u.Owner = in.LockOwner
	} else {
		u.Cache = true
	}
	return u
}

// writing is a WRITE.
func writing(in *fuse.WriteIn) byteUse {
	u := calling(&in.InHeader)
	u.Start, u.NonBlocking = in.Offset, in.Flags&unix.O_NONBLOCK != 0
	if in.WriteFlags&writeLockOwner != 0 {
		u.Owner = in.LockOwner
	}
	return u
}

func calling(h *fuse.InHeader) byteUse {
	return byteUse{Use: protocol.Use{}, tid: h.Pid, uid: h.Uid, gid: h.Gid}
}

// CopyFileRange is COPY_FILE_RANGE. Of most files the kernel copies by itself, through its page cache. To copy records it
// must not: who holds a lock on them could not copy his own.
func (fs *FS) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	from, err := fs.desk.handle(in.FhIn)
	if err != nil || from.records == nil {
		return 0, fuse.Status(unix.EOPNOTSUPP)
	}
	to, err := fs.desk.handle(in.FhOut)
	if err != nil {
		return 0, status(err)
	}
	n, err := fs.desk.copyRecords(from, to, calling(&in.InHeader), fs.who(&in.InHeader), int64(in.OffIn), int64(in.OffOut), in.Len)
	return uint32(n), status(err)
}
