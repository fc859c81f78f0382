package fusefs

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// records is how a handle meets the locks of a file of class records. Its reads and writes come to us one by one
// (FOPEN_DIRECT_IO), each with its process's id for POSIX locks.
type records struct {
	told protocol.Refusal // the last one; guarded by desk.mu
}

// byteUse is a use of bytes as a request describes it.
type byteUse struct {
	protocol.Use
	tid, uid, gid uint32 // who asks
}

// page is the size of the kernel's pages, at least.
const page = 4096

// uses are the uses of a file's bytes that are under way.
type uses struct {
	now      sync.RWMutex // held for reading while one runs; before desk.mu
	changing sync.Mutex   // held while one of them changes bytes; after now
	cached   atomic.Bool  // the kernel's page cache may have some of the bytes
}

// guardedLocked tells whether locks on the node's bytes bind everybody.
func guardedLocked(n *node) bool { return n.bytes.item.Match.Class == protocol.ClassRecords }

// readRecord is read where locks may forbid it. What is beyond the end of the file is nobody's.
func (d *desk) readRecord(h *handle, u byteUse, buf []byte) (int, error) {
	if h.records == nil {
		return d.read(h, buf, int64(u.Start))
	}
	n := 0
	err := d.using(h, func() error {
		st, err := h.stat()
		if err != nil || int64(u.Start) >= st.Size {
			return err
		}
		buf = buf[:min(int64(len(buf)), st.Size-int64(u.Start))]
		u.End = u.Start + uint64(len(buf)) - 1
		if err = d.mayUse(h, u, "read"); err == nil {
			n, err = d.read(h, buf, int64(u.Start))
		}
		return err
	})
	return n, err
}

// writeRecord is write where locks may forbid it.
func (d *desk) writeRecord(h *handle, u byteUse, p *protocol.Party, data []byte, mapped bool) (n int, err error) {
	off := int64(u.Start)
	err = d.changing(h, u, "write", func(size int64) (start, end uint64) {
		if h.appends {
			return uint64(size), uint64(size+int64(len(data))) - 1
		}
		return u.Start, u.Start + uint64(len(data)) - 1
	}, func() error {
		n, err = d.write(h, p, data, off, mapped)
		return err
	})
	return n, err
}

// resizeRecord is resize where locks may forbid it: the bytes that go, or come.
func (d *desk) resizeRecord(h *handle, u byteUse, length int64) error {
	return d.changing(h, u, "truncate", func(size int64) (uint64, uint64) { return protocol.Changed(length, size) },
		func() error { return d.resize(h, length) })
}

// allocateRecord is allocate where locks may forbid it. What takes bytes out or puts some in moves all that follow.
func (d *desk) allocateRecord(h *handle, u byteUse, mode uint32, off, n int64) error {
	return d.changing(h, u, "change", func(int64) (start, end uint64) {
		if mode&(unix.FALLOC_FL_COLLAPSE_RANGE|unix.FALLOC_FL_INSERT_RANGE) != 0 {
			return uint64(off), protocol.ToEOF
		}
		return uint64(off), uint64(off+n) - 1
	}, func() error { return d.allocate(h, mode, off, n) })
}

// changing changes bytes if no lock forbids it. Where they are depends on the file's size, so changes go one by one, as
// the kernel has those of one file do anyway.
func (d *desk) changing(h *handle, u byteUse, verb string, where func(size int64) (start, end uint64), change func() error) error {
	if h.records == nil {
		return change()
	}
	return d.using(h, func() error {
		h.node.bytes.uses.changing.Lock()
		defer h.node.bytes.uses.changing.Unlock()
		st, err := h.stat()
		if err != nil {
			return err
		}
		u.Write = true
		u.Start, u.End = where(st.Size)
		if err = d.mayUse(h, u, verb); err == nil {
			err = change()
		}
		return err
	})
}

// using runs a use of the bytes, from the question whether it may be to its end. Who is granted a lock meanwhile hears of
// it when all uses that began before have ended (usedUp).
func (d *desk) using(h *handle, use func() error) error {
	h.node.bytes.uses.now.RLock()
	defer h.node.bytes.uses.now.RUnlock()
	return use()
}

// usedUp takes a lock. Once it is granted no further use of the bytes is let through; it waits for those that began
// before, and drops what the kernel keeps of the file: what was read before must not be read on.
func (d *desk) usedUp(unique uint64, r lockRequest, take func(lockRequest) error) error {
	h, err := d.handle(r.handle)
	if err != nil || h.records == nil || r.unlock {
		return take(r)
	}
	d.handOn(unique)
	if r.lock.Kind == protocol.Posix && d.Callers.OpenFileLock(r.tid) {
		r.lock.Kind = protocol.OFD // who else has the open file has the lock
	}
	if err = take(r); err != nil {
		return err
	}
	u := &h.node.bytes.uses
	u.now.Lock()
	stale := u.cached.Swap(false)
	u.now.Unlock()
	if stale {
		d.stale(h.node.id)
	}
	return nil
}

// mayUse asks the locks. Who asks is looked up only if it matters.
func (d *desk) mayUse(h *handle, u byteUse, verb string) error {
	u.Handle = h.id
	r := d.lockInTheWay(h, u.Use)
	if r == nil {
		return nil
	}
	if ahead := u.Use; u.Cache && u.End-u.Start >= page {
		if ahead.End = u.Start + page - 1; d.lockInTheWay(h, ahead) == nil {
			return refused{r} // nobody has asked for the pages read ahead: the kernel asks for the first one again
		}
	}
	u.By = h.party
	if u.tid != 0 {
		u.By = d.Callers.Who(u.tid, u.uid, u.gid)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mayUseLocked(h, u.Use, verb, (*protocol.Locks).MayUse)
}

func (d *desk) lockInTheWay(h *handle, u protocol.Use) *protocol.Refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !guardedLocked(h.node) {
		return nil
	}
	if u.Cache {
		h.node.bytes.uses.cached.Store(true)
	}
	return h.node.bytes.locksOf().MayUse(u, d.holdingLocked) // which may not bind him after all
}

func (d *desk) mayUseLocked(h *handle, u protocol.Use, verb string, rule func(*protocol.Locks, protocol.Use, func(protocol.Lock) protocol.Holding) *protocol.Refusal) error {
	if !guardedLocked(h.node) {
		return nil
	}
	u.Overrides = d.overrides(u.By)
	r := rule(h.node.bytes.locksOf(), u, func(k protocol.Lock) protocol.Holding { return d.bindingLocked(h.node, k) })
	if r == nil {
		return nil
	}
	r.Item = protocol.ItemID(h.node.id)
	if h.records != nil && h.records.toldLocked(r) {
		return refused{r}
	}
	return d.refuseLocked(attempt{by: u.By, verb: verb, path: d.pathLocked(h.node.bytes.item.Name)}, r)
}

// toldLocked: the handle was refused for this very lock before. A program may try again very often.
func (h *records) toldLocked(r *protocol.Refusal) bool {
	again := h.told == *r
	h.told = *r
	return again
}

// mayEmptyLocked asks before an open with O_TRUNC takes effect.
func (d *desk) mayEmptyLocked(h *handle, flags uint32) error {
	if flags&unix.O_TRUNC == 0 || h.kind() != inPlaceHandle {
		return nil
	}
	return d.mayUseLocked(h, protocol.Use{By: h.party, NonBlocking: flags&unix.O_NONBLOCK != 0}, "truncate", (*protocol.Locks).MayEmpty)
}

// overrides: root passes what others than root have locked.
func (d *desk) overrides(p *protocol.Party) bool {
	return p != nil && p.Process.UID == 0 && !d.RootBound
}

// bindingLocked says who holds a lock on the node that others must respect.
func (d *desk) bindingLocked(n *node, k protocol.Lock) protocol.Holding {
	h := d.holdingLocked(k)
	if open := d.handles[k.Handle]; (open == nil || !open.write) && n.bytes.at != (backing.Object{}) && !d.mayBindLocked(nil, n, h.Holders) {
		h.Holders = nil
	}
	return h
}

// mayLockLocked: no lock is granted that could be evaded. What is done with a descriptor from before the file came into
// class records does not come to us, and it may be mapped.
func (d *desk) mayLockLocked(h *handle) error {
	if !guardedLocked(h.node) {
		return nil
	}
	for _, o := range h.node.bytes.handles {
		if o.records == nil {
			return d.refuseHandleLocked(h, "lock", &protocol.Refusal{Reason: protocol.Busy, Kind: "descriptor", By: o.party.ID, Since: h.node.bytes.item.Since,
				WhatNow: "close it, and open the file anew: it was opened before the file came here, and may be mapped"})
		}
	}
	return nil
}

// copiedAtOnce is how much of records one request copies; the kernel, and programs, ask for the rest.
const copiedAtOnce = 1 << 20

// copyRecords copies bytes as their reader and writer would.
func (d *desk) copyRecords(from, to *handle, u byteUse, p *protocol.Party, off, at int64, length uint64) (int, error) {
	buf := make([]byte, min(length, copiedAtOnce))
	u.Start = uint64(off)
	n, err := d.readRecord(from, u, buf)
	if err != nil || n == 0 {
		return 0, err
	}
	u.Start = uint64(at)
	return d.writeRecord(to, u, p, buf[:n], false)
}
