package fusefs

import (
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// waitLockOf is waitLock for a thread. Before it waits it is found out whether the lock is its process's or its open
// file's: only processes' locks make a deadlock.
func (d *desk) waitLockOf(cancel <-chan struct{}, unique uint64, r lockRequest) error {
	if r.lock.Kind != protocol.Posix {
		return d.waitLock(cancel, unique, r)
	}
	if err := d.setLock(cancel, unique, r); err != syscall.EAGAIN {
		return err
	}
	if d.Callers.OpenFileLock(r.tid) {
		r.lock.Kind = protocol.OFD
	}
	return d.waitLock(cancel, unique, r)
}

// mayBeWaitedForLocked: the owner has something beside the request that has just come to wait.
func (d *desk) mayBeWaitedForLocked(owner uint64) bool {
	entries := 0
	for list := range d.locked {
		entries += list.Entries(owner)
	}
	return entries > 1
}
