package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// Granted locks are shown to the outside: the daemon takes the same on the backing's inode, by the descriptor through which
// its program has the file open. So lslocks(8), /proc/locks and programs that work in the backing itself see them. It asks
// for them without waiting, and what an outsider has locked it goes without: nobody on the mount waits for one.

// through are the open files by which a request's owner has the locks that it is about to change.
func through(list *protocol.Locks, k protocol.Lock) []uint64 {
	all := []uint64{k.Handle}
	for _, h := range list.Within(k.Start, k.End) {
		if h.Owner == k.Owner && (h.Kind == protocol.Flock) == (k.Kind == protocol.Flock) && h.Handle != k.Handle {
			all = append(all, h.Handle)
		}
	}
	return all
}

// mirrorLocked brings the outside up to date about the range of a lock, as far as it is held through these open files.
func (d *desk) mirrorLocked(list *protocol.Locks, k protocol.Lock, handles []uint64) {
	for _, id := range handles {
		h := d.handles[id]
		if h == nil {
			continue
		}
		for _, f := range h.files() {
			mirror(f, id, list, k)
		}
	}
}

// files are the open files of the backing behind a handle.
func (h *handle) files() (all []*backing.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range []*backing.File{h.file, h.base} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

func mirror(f *backing.File, handle uint64, list *protocol.Locks, k protocol.Lock) {
	how, next := unix.LOCK_UN, k.Start
	var held []protocol.Lock
	for _, h := range list.Within(k.Start, k.End) {
		switch {
		case h.Handle != handle:
		case h.Kind != protocol.Flock:
			held = append(held, h)
		case h.Mode == protocol.WriteLock:
			how = unix.LOCK_EX
		default:
			how = unix.LOCK_SH
		}
	}
	if k.Kind == protocol.Flock {
		_ = f.Flock(how) // it is for others to see, and nobody here depends on it; likewise below
		return
	}
	for _, h := range held {
		if from := max(h.Start, k.Start); from > next {
			_ = f.LockRange(unix.F_UNLCK, next, from-1)
		}
		next = max(next, min(h.End, k.End)+1)
	}
	if next <= k.End {
		_ = f.LockRange(unix.F_UNLCK, next, k.End)
	}
	for _, mode := range []protocol.LockMode{protocol.ReadLock, protocol.WriteLock} {
		for _, h := range held {
			if h.Mode == mode {
				mirrorRange(f, mode, max(h.Start, k.Start), min(h.End, k.End))
			}
		}
	}
}

// mirrorRange: what is open for reading only can't be locked for writing, nor the other way round.
func mirrorRange(f *backing.File, mode protocol.LockMode, start, end uint64) {
	types := []int16{unix.F_RDLCK, unix.F_WRLCK}
	if mode == protocol.WriteLock {
		types = []int16{unix.F_WRLCK, unix.F_RDLCK}
	}
	if err := f.LockRange(types[0], start, end); errors.Is(err, syscall.EBADF) {
		_ = f.LockRange(types[1], start, end)
	}
}
