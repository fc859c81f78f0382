package fusefs

import (
	"slices"
	"time"
)

// closedByLocked: a process has closed a descriptor, and with it lost its POSIX locks on the file. If it has written a version
// by it, the next one who gets the lock must find that version: it gets it at the end of the open file, which comes right
// behind, unless that has other descriptors.
func (d *desk) closedByLocked(h *handle, owner uint64) {
	if h.kind() != writeHandle || !h.wrote.Load() || len(h.node.bytes.locksOf().OfOwner(owner)) == 0 {
		d.closeOwnerLocked(h.node, owner)
		return
	}
	h.closedBy = append(h.closedBy, owner)
	time.AfterFunc(closesWithin, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if slices.Contains(h.closedBy, owner) {
			d.closeOwnersLocked(h)
		}
	})
}

// closesWithin is how long the end of an open file is waited for.
const closesWithin = 50 * time.Millisecond

// closeOwnersLocked lets go of the POSIX locks of those who have closed the file.
func (d *desk) closeOwnersLocked(h *handle) {
	for _, owner := range h.closedBy {
		d.closeOwnerLocked(h.node, owner)
	}
	h.closedBy = nil
}

// closeLocksLocked: an open file has ended, and with it all locks that were taken through it.
func (d *desk) closeLocksLocked(h *handle) {
	d.closeOwnersLocked(h)
	if l := h.node.bytes.locksOf(); !l.Empty() {
		d.wakeLocked(h.node, l.CloseHandle(h.id))
	}
}
