package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// newestLocked: who is granted a lock on a file that he has open to change it, and has not begun to, changes the version
// that is current now. As on any filesystem he finds by his descriptor what the former holder has left. The kernel must
// forget what was read of it before, and then he may be told that he has the lock (renewed).
func (d *desk) newestLocked(h *handle) {
	n := h.node
	i := &n.bytes.item
	if !i.Derived || h.append || n.bytes.copying {
		return
	}
	f, err := d.fileOfLocked(i)
	if err != nil {
		return
	}
	newest := protocol.Newest(f, i)
	if newest == nil || d.table.byID[uint64(newest.ID)].bytes.locks != n.bytes.locks {
		return // or it is another file by now: the lock is on one that was removed
	}
	if err := d.readsNowLocked(n, d.table.byID[uint64(newest.ID)]); err != nil {
		d.Log.Warn("who has locked a file keeps the version from before", "path", d.pathLocked(i.Name), "error", err)
		return
	}
	d.madeFromLocked(n, newest)
	if job := d.jobLocked(h.party); h.read && f.Versioned() && job != (protocol.Job{}) {
		d.setBaseLocked(protocol.Rebase{Name: f.Name, Job: job, Base: protocol.Base{Version: newest.ID}}, h.party.Process.UID)
	}
	h.renewed = true
}

// madeFromLocked has a version be made from another one.
func (d *desk) madeFromLocked(n *node, newest *protocol.Item) {
	i := &n.bytes.item
	old := i.Base
	i.Base = newest.ID
	d.baseLocked(old, i.Base, false)
}

// baseForLocked is the version that one without bytes reads as. If that was written over before anybody had the new one open,
// it is the current one.
func (d *desk) baseForLocked(n *node) *node {
	base := d.table.byID[uint64(n.bytes.item.Base)]
	if base != nil && base.bytes.at != (backing.Object{}) || len(n.bytes.handles) > 0 {
		return base
	}
	f, err := d.fileOfLocked(&n.bytes.item)
	if err != nil {
		return base
	}
	if newest := protocol.Newest(f, &n.bytes.item); newest != nil {
		base = d.table.byID[uint64(newest.ID)]
		d.madeFromLocked(n, newest)
		n.leavesLocked()
		d.shareLocksLocked(n, base)
	}
	return base
}

// readsNowLocked has a version that nothing was written to read as another one.
func (d *desk) readsNowLocked(n, base *node) error {
	opened := map[*handle]*backing.File{}
	for _, o := range n.bytes.handles {
		f, _, err := d.Store.Open(base.bytes.at, unix.O_RDONLY)
		if err != nil {
			for _, f := range opened {
				f.Close()
			}
			return err
		}
		opened[o] = f
	}
	for o, f := range opened {
		o.readNow(f)
	}
	return nil
}

func (h *handle) readNow(f *backing.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base != nil {
		h.base.Close()
	}
	h.base = f
}

// renewed has the kernel forget what it keeps of a version that reads as another one since a lock was granted.
func (d *desk) renewed(unique uint64, r lockRequest) {
	if n := d.takeRenewed(r.handle); n != nil {
		d.handOn(unique)
		d.stale(n.id)
	}
}

func (d *desk) takeRenewed(handle uint64) *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.handles[handle]
	if h == nil || !h.renewed {
		return nil
	}
	h.renewed = false
	return h.node
}
