package fusefs

import (
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// errnos is the one table that turns the protocol's reasons into errno (docs/protocol.md, section 11).
var errnos = map[protocol.Reason]syscall.Errno{
	protocol.NotFound:     syscall.ENOENT,
	protocol.NotYours:     syscall.ENOENT,
	protocol.Busy:         syscall.EBUSY,
	protocol.Exists:       syscall.EEXIST,
	protocol.Stale:        syscall.ESTALE,
	protocol.Fenced:       syscall.ESTALE,
	protocol.WriteFailed:  syscall.EIO,
	protocol.BaseGone:     syscall.EIO,
	protocol.Outdated:     syscall.EBUSY,
	protocol.OtherKind:    syscall.EXDEV,
	protocol.Reserved:     syscall.EPERM,
	protocol.HiddenBelow:  syscall.ENOTEMPTY,
	protocol.Invalid:      syscall.EINVAL,
	protocol.NotPermitted: syscall.EPERM,
	protocol.NoRoom:       syscall.ENFILE,
	protocol.Ending:       syscall.EBUSY,
	protocol.WouldWait:    syscall.EAGAIN,
}

// refused is a Refusal as an error.
type refused struct{ *protocol.Refusal }

func (r refused) Error() string { return r.Reason.String() }

// cause is an error of the backing for people: what went wrong, without the place where the mount keeps the bytes.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// status turns an error into what the kernel gets: the protocol's, the backing's own, or EIO.
func status(err error) fuse.Status {
	var r refused
	var errno syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &r):
		if e, ok := errnos[r.Reason]; ok {
			return fuse.Status(e)
		}
	case errors.Is(err, errAgain):
		return fuse.Status(syscall.EBUSY) // somebody outside is changing the name all the time, or writes to it
	case errors.Is(err, syscall.EMFILE):
		return fuse.Status(syscall.ENFILE) // it is this process that has no descriptor left, not the caller
	case errors.As(err, &errno):
		return fuse.Status(errno)
	case errors.Is(err, backing.ErrNotRegular):
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return fuse.EIO
}
