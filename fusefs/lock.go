package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// lockWait is a lock request that waits.
type lockWait struct {
	granted chan struct{}
	node    *node
	uid     uint32
}

// lockRequest is what the kernel asks about a lock, in the protocol's terms.
type lockRequest struct {
	handle uint64
	tid    uint32 // of the thread that asks
	uid    uint32
	lock   protocol.Lock
	unlock bool
}

// lockedNode is the inode a lock request is about. A file that is locked before its first byte was made for that.
func (d *desk) lockedNodeLocked(h *handle, r *lockRequest) (*node, error) {
	n := h.node
	if r.unlock || n.bytes.item.State != protocol.Staged || !n.bytes.item.Empty {
		return n, nil
	}
	if err := d.aboutItemLocked(n, d.call(protocol.OpLock, h.party)); err != nil {
		return nil, err
	}
	if n.bytes.item.State == protocol.Public {
		for _, o := range n.bytes.handles {
			o.become(inPlaceHandle)
			o.lockFile.Store(true)
		}
	}
	return n, nil
}

// testLock is F_GETLK: the first lock that is in the way.
func (d *desk) testLock(r lockRequest) (protocol.Lock, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, err := d.handleLocked(r.handle)
	if err != nil {
		return protocol.Lock{}, false, err
	}
	l, met := h.node.bytes.locksOf().Test(r.lock)
	return l, met, nil
}

// setLock takes or gives back a lock without waiting.
func (d *desk) setLock(cancel <-chan struct{}, unique uint64, r lockRequest) error {
	err := d.lockWhenQuiet(cancel, unique, r, func() error {
		_, err := d.tryLockLocked(r)
		return err
	})
	d.renewed(unique, r)
	return err
}

func (d *desk) tryLockLocked(r lockRequest) (*node, error) {
	h, err := d.handleLocked(r.handle)
	if err != nil {
		return nil, err
	}
	if h.fenced.Load() && !r.unlock {
		return nil, d.refuseHandleLocked(h, "lock", &protocol.Refusal{Reason: protocol.Fenced})
	}
	n, err := d.lockedNodeLocked(h, &r)
	if err != nil {
		return nil, err
	}
	if r.unlock {
		list := d.lockListLocked(n)
		by := through(list, r.lock)
		granted := list.Release(r.lock)
		d.mirrorLocked(list, r.lock, by)
		d.wakeLocked(n, granted)
		return n, nil
	}
	if err = errors.Join(d.mayLockLocked(h), d.lockRoomLocked(n, r.uid)); err != nil {
		return nil, err
	}
	list := d.lockListLocked(n)
	d.crossesLocked(n)
	by := through(list, r.lock)
	_, granted, ok := list.Acquire(r.lock)
	if ok {
		d.newestLocked(h)
	}
	d.mirrorLocked(list, r.lock, by)
	d.wakeLocked(n, granted)
	if !ok {
		return n, syscall.EAGAIN
	}
	return n, d.truncateNowLocked(h)
}

// waitLock takes a lock, waiting in line for it. The wait ends early, with EINTR, only when the caller is interrupted:
// the kernel would hand any other use of EINTR on to the program as an error it has no name for.
func (d *desk) waitLock(cancel <-chan struct{}, unique uint64, r lockRequest) error {
	var w *protocol.Waiter
	var wait *lockWait
	err := d.lockWhenQuiet(cancel, unique, r, func() (err error) {
		w, wait, err = d.waitLockLocked(r)
		return err
	})
	if wait == nil {
		d.renewed(unique, r)
		return err
	}
	select {
	case <-wait.granted:
		d.renewed(unique, r)
		return nil
	case <-cancel:
		return d.stopWaiting(w, wait)
	}
}

// waitLockLocked takes a lock, or has the request wait.
func (d *desk) waitLockLocked(r lockRequest) (*protocol.Waiter, *lockWait, error) {
	n, err := d.tryLockLocked(r)
	if err != syscall.EAGAIN {
		return nil, nil, err
	}
	if err = d.waitRoomLocked(r.uid); err != nil {
		return nil, nil, err
	}
	w, granted := d.lockListLocked(n).Wait(r.lock)
	wait := &lockWait{granted: make(chan struct{}), node: n, uid: r.uid}
	d.waits[w] = wait
	d.queuedLocked(n, granted)
	if d.mayBeWaitedForLocked(r.lock.Owner) && protocol.Deadlock(r.lock, d.blockedByLocked) {
		delete(d.waits, w)
		d.wakeLocked(n, d.lockListLocked(n).Cancel(w))
		return nil, nil, syscall.EDEADLK
	}
	return w, wait, nil
}

// stopWaiting leaves the line, unless the lock was granted in the same moment: then it is given back.
func (d *desk) stopWaiting(w *protocol.Waiter, wait *lockWait) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-wait.granted:
		return nil
	default:
	}
	delete(d.waits, w)
	d.wakeLocked(wait.node, d.lockListLocked(wait.node).Cancel(w))
	d.tidyLocked(wait.node)
	return syscall.EINTR
}

// wakeLocked: locks of a node were let go, or others taken. It tells those whose turn has come, and opens that wait.
func (d *desk) wakeLocked(n *node, granted []*protocol.Waiter) {
	d.queuedLocked(n, granted)
	d.letGoLocked(n.bytes.item.Name)
}

// queuedLocked: the list of a node has changed. It tells those whose turn has come.
func (d *desk) queuedLocked(n *node, granted []*protocol.Waiter) {
	d.locksChangedLocked(n)
	for _, w := range granted {
		if h := d.handles[w.Handle]; h != nil {
			d.newestLocked(h)
		}
		d.mirrorLocked(n.bytes.locksOf(), w.Lock, []uint64{w.Handle})
		if err := d.truncateNowLocked(d.handles[w.Handle]); err != nil {
			d.Log.Error("a lock file could not be truncated as its opener asked", "path", d.pathLocked(n.bytes.item.Name), "error", err)
		}
		if wait := d.waits[w]; wait != nil {
			close(wait.granted)
			delete(d.waits, w)
		}
	}
}

// blockedByLocked answers whom an owner waits for, over all inodes.
func (d *desk) blockedByLocked(owner uint64) []uint64 {
	var by []uint64
	for list := range d.locked {
		by = append(by, list.BlockedBy(owner)...)
	}
	return by
}

// lockKind: flock requests are marked. The owner id of an open file (flock, OFD) is not that of a process (POSIX): a
// POSIX owner is the one FLUSH names, so what a process locked by both kinds is told apart there.
func lockKind(flags uint32) protocol.LockKind {
	if flags&1 != 0 { // FUSE_LK_FLOCK
		return protocol.Flock
	}
	return protocol.Posix
}

func lockMode(typ uint32) protocol.LockMode {
	if typ == unix.F_WRLCK {
		return protocol.WriteLock
	}
	return protocol.ReadLock
}

// closeOwnerLocked: a process has closed a descriptor of the file, and with it its POSIX locks.
func (d *desk) closeOwnerLocked(n *node, owner uint64) {
	list := n.bytes.locksOf()
	if list.Empty() {
		return
	}
	own := list.OfOwner(owner)
	granted := list.CloseOwner(owner)
	for _, k := range own {
		d.mirrorLocked(list, k, []uint64{k.Handle})
	}
	d.wakeLocked(n, granted)
}
