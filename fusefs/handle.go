package fusefs

import (
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// handleKind says what an open file description is for.
type handleKind uint8

const (
	viewHandle    handleKind = iota // reads what it opened, holds nothing
	claimHandle                     // keeps its owner's claim
	writeHandle                     // an unfinished version
	inPlaceHandle                   // a file of a class that is read and written in place
	lockHandle                      // may only be locked
)

// handle is one open file description. What it is for changes under desk.mu, and is read without it too.
type handle struct {
	id        uint64
	node      *node
	use       atomic.Uint32   // a handleKind
	party     *protocol.Party // who opened it
	takes     int             // descriptors
	read      bool
	write     bool
	appends   bool // the file is shared with other appenders, in place
	counted   bool // in Item.Writers
	readed    bool // in Item.Readers
	fenced    atomic.Bool
	flushed   atomic.Bool
	wrote     atomic.Bool
	refused   atomic.Bool   // and told why
	records   *records      // not nil: what others have locked binds it, and the kernel asks about all it does
	releasing chan struct{} // closed when a sync after its last close, and what follows, is done; guarded by desk.mu
	lastTID   atomic.Uint32
	lockFile  atomic.Bool // each write by it is asked about, as long as it writes in place
	closedBy  []uint64    // who has closed it and has lost his POSIX locks, which others have not got yet; guarded by desk.mu
	append    bool        // O_APPEND
	renewed   bool        // it reads as another version since it has a lock: guarded by desk.mu
	truncates bool        // when it has the lock: guarded by desk.mu

	mu   sync.Mutex
	file *backing.File // nil while a derived version has no bytes
	base *backing.File // what a derived version reads until then
}

func (h *handle) kind() handleKind    { return handleKind(h.use.Load()) }
func (h *handle) become(k handleKind) { h.use.Store(uint32(k)) }

// source is the file to read from.
func (h *handle) source() (*backing.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.fenced.Load():
		return nil, refused{&protocol.Refusal{Reason: protocol.Fenced}}
	case h.file != nil:
		return h.file, nil
	case h.base != nil:
		return h.base, nil
	}
	return nil, syscall.EBUSY
}

// own is the file to write to, nil if the version has no bytes yet.
func (h *handle) own() *backing.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.file
}

func (h *handle) setOwn(f *backing.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.file = f
}

func (h *handle) stat() (backing.Stat, error) {
	f, err := h.source()
	if err != nil {
		return backing.Stat{}, err
	}
	return f.Stat2()
}

// close gives the descriptors back. The kernel sends RELEASE only after the last request on the handle was answered.
func (h *handle) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range []*backing.File{h.file, h.base} {
		if f != nil {
			f.Close()
		}
	}
	h.file, h.base = nil, nil
}

// attachLocked makes a handle known and counts it where the protocol counts.
func (d *desk) attachLocked(h *handle) {
	d.lastFH++
	h.id = d.lastFH
	d.handles[h.id] = h
	if guardedLocked(h.node) {
		h.records = &records{}
	}
	h.takes = 1
	if h.base != nil {
		h.takes = 2 // a file of its own at the first write
	}
	d.countLocked(h.party.Process.UID, h.takes, 0)
	b := h.node.bytes
	if b.handles == nil {
		b.handles = map[uint64]*handle{}
	}
	b.handles[h.id] = h
	b.unused = nil
	if h.write && (h.kind() == writeHandle || h.kind() == inPlaceHandle) {
		h.counted = true
		b.item.Writers++
		b.item.Begun = false
	}
	if h.kind() == claimHandle {
		h.readed = true
		b.item.Readers++
		if t := d.timers[h.node]; t != nil {
			t.Stop()
			delete(d.timers, h.node)
		}
	}
}

// detachLocked is the end of a handle's counts.
func (d *desk) detachLocked(h *handle) {
	b := h.node.bytes
	delete(d.handles, h.id)
	d.countLocked(h.party.Process.UID, -h.takes, 0)
	delete(b.handles, h.id)
	if h.counted {
		b.item.Writers--
	}
	if h.readed && h.kind() == claimHandle && b.item.Readers > 0 {
		b.item.Readers--
	}
}

func (d *desk) handleLocked(id uint64) (*handle, error) {
	h := d.handles[id]
	if h == nil {
		return nil, syscall.EBADF
	}
	return h, nil
}

func (d *desk) handle(id uint64) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handleLocked(id)
}
