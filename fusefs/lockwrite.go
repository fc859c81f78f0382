package fusefs

import (
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// ofLockFile tells whether each write by a handle is asked about: those to a lock file. What it reads is not cached either:
// the kernel takes what was opened with O_TRUNC for empty, also if that is put off.
func (h *handle) ofLockFile() bool {
	return h.kind() == inPlaceHandle && h.lockFile.Load()
}

// putOffLocked: who opens a lock file with O_TRUNC that a stranger has locked does as many programs do that then find it
// locked, and give up. It is truncated when he has the lock, or writes; until then the running program's pid stays.
func (d *desk) putOffLocked(h *handle, truncates bool) bool {
	h.lockFile.Store(h.node.bytes.item.Match.Vector.Class == protocol.ClassLock)
	h.truncates = truncates && h.ofLockFile() && h.node.bytes.fresh == nil && d.writeMetLocked(h) != nil
	return h.truncates
}

// truncateNowLocked does what was put off, if nobody else has a lock now.
func (d *desk) truncateNowLocked(h *handle) error {
	if h == nil || !h.truncates || d.writeMetLocked(h) != nil {
		return nil
	}
	f := h.own()
	if f == nil {
		return syscall.EBADF
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	h.truncates = false
	h.node.bytes.saved.changed()
	d.staleLocked(h.node, h.node) // the kernel has seen it with its old length since
	return nil
}

// mayWriteInPlaceLocked asks about a write to a lock file, and has who asks for a lock wait for its end (endGuard).
func (d *desk) mayWriteInPlaceLocked(h *handle) error {
	if !h.ofLockFile() {
		return nil
	}
	if r := d.writeMetLocked(h); r != nil {
		return d.refuseHandleLocked(h, "write", r)
	}
	if err := d.mayChangeLocked(h); err != nil {
		return err
	}
	return d.truncateNowLocked(h)
}

// beginWriteLocked counts a write that is under way.
func (d *desk) beginWriteLocked(h *handle) {
	if b := h.node.bytes; h.ofLockFile() {
		if b.writing++; b.quiet == nil {
			b.quiet = make(chan struct{})
		}
	}
}

// endWrite is the end of a write.
func (d *desk) endWrite(h *handle) {
	if !h.ofLockFile() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := h.node.bytes; b.writing > 0 {
		if b.writing--; b.writing == 0 {
			close(b.quiet)
			b.quiet = nil
		}
	}
}

// lockWhenQuiet runs a lock request when no write that it would forbid is under way. EINTR: it was interrupted.
func (d *desk) lockWhenQuiet(cancel <-chan struct{}, unique uint64, r lockRequest, doLocked func() error) error {
	for {
		quiet, err := d.tryQuiet(r, doLocked)
		if quiet == nil {
			return err
		}
		d.handOn(unique)
		select {
		case <-quiet:
		case <-cancel:
			return syscall.EINTR
		}
	}
}

func (d *desk) tryQuiet(r lockRequest, doLocked func() error) (chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.handles[r.handle]; h != nil && h.node.bytes.quiet != nil {
		return h.node.bytes.quiet, nil
	}
	return nil, doLocked()
}
