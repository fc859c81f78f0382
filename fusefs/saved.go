package fusefs

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// saved tells whether a version's bytes are on the disk. It belongs to the bytes, not to a descriptor: several may write
// them, and one sync is for all. Its methods may be called without desk.mu; those that wait must be.
type saved struct {
	changes atomic.Uint64 // counted when they are made, so that a sync under way does not count for them
	durable atomic.Uint64 // so many of them
	lost    atomic.Pointer[error]

	mu sync.Mutex // held while bytes are made durable
}

// changed: bytes were written, or cut off.
func (s *saved) changed() { s.changes.Add(1) }

// unknown: nobody knows what was written before the first change that was seen.
func (s *saved) unknown() { s.changes.CompareAndSwap(0, 1) }

// owing tells whether something is not known to be durable.
func (s *saved) owing() bool { return s.changes.Load() != s.durable.Load() }

// save makes the bytes durable, if anything is owing. Who comes while another does so waits for him: his own bytes may be
// among the other's.
func (s *saved) save(sync func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost.Load() == nil && !s.owing() {
		return nil
	}
	return s.syncLocked(sync)
}

// saveAll is save for who asked for it: what else the disk keeps of the file may be new, too.
func (s *saved) saveAll(sync func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.syncLocked(sync)
}

// syncLocked never tries again what has failed. The kernel reports a failed sync once and then takes the pages for clean
// (fsync(2)), so a second one would succeed without them.
func (s *saved) syncLocked(sync func() error) error {
	if e := s.lost.Load(); e != nil {
		return *e
	}
	upTo := s.changes.Load()
	if err := sync(); err != nil {
		s.lost.Store(&err)
		return err
	}
	s.durable.Store(upTo)
	return nil
}

// anew: all bytes are cut off, with what was lost of them. What comes now is told apart by its own sync.
func (s *saved) anew() {
	s.lost.Store(nil)
	s.changed()
}

// owesBytes tells whether the end of a descriptor has something to make durable: bytes of what is not public yet. What is
// written in place is made durable by who writes it.
func (d *desk) owesBytes(h *handle) bool {
	if d.Sync == SyncNone || !h.node.bytes.saved.owing() {
		return false
	}
	if h.kind() != inPlaceHandle {
		return h.kind() == writeHandle
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.node.bytes.item.Private() // it was moved to where files are handed over
}

// syncBytes makes the bytes durable as configured.
func (d *desk) syncBytes(h *handle) error {
	f := h.own()
	if f == nil || !d.owesBytes(h) {
		return nil
	}
	err := h.node.bytes.saved.save(f.Datasync)
	if err != nil {
		d.notSaved(h.node, err)
	}
	return err
}

// notSaved: nobody knows what the disk has of a version. It will not be public.
func (d *desk) notSaved(n *node, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Log.Error("bytes could not be made durable", "path", d.pathLocked(n.bytes.item.Name), "error", err)
	if n.bytes.item.Private() {
		d.taintLocked(n, protocol.Taint{Kind: protocol.TaintWrite, Detail: "making it durable failed: " + cause(err)})
	}
}

// fsync is fsync(2).
func (d *desk) fsync(h *handle) error {
	f, err := h.source()
	switch {
	case err != nil:
		return err
	case d.Sync == SyncNone:
		return nil
	case !h.write || f != h.own():
		return f.Sync()
	}
	if err = h.node.bytes.saved.saveAll(f.Sync); err != nil {
		d.notSaved(h.node, err)
	}
	return err
}

// unsaved: a call has to wait until the bytes of a file are durable, which is not waited for under the lock.
type unsaved struct{ *node }

func (u unsaved) Error() string { return "its bytes are not durable yet" }

// unsavedLocked finds that an item is about to get a name under which it is complete, and is not durable: it was written in
// place, or an earlier mount left it. What is still open is made durable by its last close, before which it does not appear.
func (d *desk) unsavedLocked(i *protocol.Item, t *protocol.File) error {
	if d.Sync == SyncNone || i == nil || !i.Closed() || i.Derived || t.Match.Class.InPlace() {
		return nil
	}
	n := d.table.byID[uint64(i.ID)]
	inPlace := i.Match.Class.InPlace()
	if n == nil || i.State == protocol.Public && !inPlace {
		return nil
	}
	if inPlace {
		n.bytes.saved.unknown()
	}
	if n.bytes.saved.owing() {
		return unsaved{n}
	}
	return nil
}

// mostSaves bounds how often a call is made again because more has been written to a file while it was saved: the kernel
// lets nobody else change the folders meanwhile, and whoever makes the call can't be killed.
const mostSaves = 16

// saveFirst makes a call again when it has found something unsaved, and that is saved. EBUSY if that goes on.
func (d *desk) saveFirst(unique uint64, call func() error) error {
	var u unsaved
	err := call()
	for saves := 0; errors.As(err, &u) && saves < mostSaves; saves++ {
		d.handOn(unique)
		if err = d.saveNode(u.node); err == nil {
			err = call()
		}
	}
	if errors.As(err, &u) {
		return d.neverSaved(u.node)
	}
	return err
}

// neverSaved refuses to move what is written faster than it can be made durable.
func (d *desk) neverSaved(n *node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &protocol.Refusal{Reason: protocol.Busy, Item: n.bytes.item.ID, WhatNow: "it is written again and again: move it when that has ended"}
	return d.refuseLocked(attempt{verb: "move", path: d.pathLocked(n.bytes.item.Name)}, r)
}

// saveNode makes the bytes of a file durable that nobody has open.
func (d *desk) saveNode(n *node) error {
	d.mu.Lock()
	at := n.bytes.at
	if at == (backing.Object{}) {
		d.mu.Unlock()
		return syscall.ESTALE
	}
	f, _, err := d.Store.Open(at, unix.O_RDONLY)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	defer f.Close()
	if err = n.bytes.saved.saveAll(f.Datasync); err != nil {
		d.notSaved(n, err)
	}
	return err
}
