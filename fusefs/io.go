package fusefs

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// read reads at an offset. Short only at the end of the file.
func (d *desk) read(h *handle, buf []byte, off int64) (int, error) {
	f, err := h.source()
	if h.fenced.Load() {
		return 0, d.refuseFenced(h, "read")
	}
	if err != nil {
		return 0, err
	}
	n, err := f.ReadAt(buf, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// write writes to the caller's own version, or to a file written in place. mapped: it comes from a shared mapping.
func (d *desk) write(h *handle, p *protocol.Party, buf []byte, off int64, mapped bool) (int, error) {
	f, err := d.writable(h, buf)
	if err != nil {
		return 0, err
	}
	defer d.endWrite(h)
	h.wrote.Store(true)
	n, err := h.writeAt(f, buf, off)
	h.node.bytes.saved.changed()
	d.wrote(h, p, off, n, len(buf), mapped, err)
	if n > 0 {
		err = nil // the rest fails when it is written again
	}
	return n, err
}

// writeAt writes where the kernel says, or for O_APPEND on a file that others append to as well, where its end is now.
func (h *handle) writeAt(f *backing.File, buf []byte, off int64) (int, error) {
	if h.appends {
		return f.Write(buf)
	}
	return f.WriteAt(buf, off)
}

// writable gives the version bytes of its own, if this is its first write. What it has begun ends with endWrite.
func (d *desk) writable(h *handle, buf []byte) (*backing.File, error) {
	if !h.write || h.fenced.Load() {
		return nil, d.refuseFenced(h, "write")
	}
	if f := h.own(); f != nil {
		return f, errors.Join(d.reopened(h, f), d.inPlace(h, buf))
	}
	if err := d.materialise(h); err != nil {
		return nil, err
	}
	return h.own(), nil
}

// materialise makes the bytes of a derived version: a copy of its base. The copy may be long, so it is made without the
// desk's lock. Until it is complete everybody reads the base, and who writes waits: the kernel writes the pages of a
// mapping many at a time, and what was written first would be copied over.
func (d *desk) materialise(h *handle) error {
	h.node.bytes.making.Lock()
	defer h.node.bytes.making.Unlock()
	if h.own() != nil {
		return nil
	}
	f, st, err := d.makeBytes(h)
	if err != nil {
		return err
	}
	if h.base != nil {
		done := d.copies.begin(h.party.Process.UID)
		err = f.CopyFrom(h.base, st.Size)
		h.node.bytes.saved.changed()
		done()
	}
	if err != nil {
		d.taint(h.node, protocol.Taint{Kind: protocol.TaintWrite, Detail: "copying the version it was made from failed: " + cause(err)})
	}
	return errors.Join(err, d.giveBytes(h, f))
}

// giveBytes gives the file of a derived version to all handles on it.
func (d *desk) giveBytes(h *handle, f *backing.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := h.node.bytes
	b.copying = false
	h.setOwn(f)
	for _, o := range b.handles {
		if o.own() != nil || o.kind() != writeHandle {
			continue
		}
		own, err := f.Reopen(unix.O_RDWR)
		if err != nil {
			return err
		}
		o.setOwn(own)
	}
	return nil
}

// makeBytes makes the file of a derived version, to be copied into.
func (d *desk) makeBytes(h *handle) (*backing.File, backing.Stat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, b := h.node, h.node.bytes
	st, err := h.stat()
	if err != nil {
		return nil, st, err
	}
	if b.item.State == protocol.Gone {
		return nil, st, syscall.ESTALE
	}
	if err = d.mayBeginLocked(n, h); err != nil {
		return nil, st, err
	}
	f, err := d.bytesFileLocked(n)
	if err != nil {
		return nil, st, err
	}
	b.reach, b.copying = st.Size, true
	return f, st, nil
}

// mayBeginLocked: between its open and its first write somebody else may have taken the base, or begun to write the name.
func (d *desk) mayBeginLocked(n *node, h *handle) error {
	i := &n.bytes.item
	base := d.table.byID[uint64(i.Base)]
	if base == nil {
		return d.refuseHandleLocked(h, "write", d.metBaseLocked(n, base, protocol.Busy))
	}
	switch current, err := d.currentLocked(i, base, h.party); {
	case err != nil:
		return err
	case !current:
		return d.refuseHandleLocked(h, "write", d.metBaseLocked(n, base, protocol.Busy))
	}
	for _, o := range d.knownLocked(d.table.byID[uint64(i.Name.Folder)], i.Name.Name).Private {
		other := o != i && o.State == protocol.Staged && !o.Derived && !o.InClaim && !o.Temp()
		if other && !protocol.Kin(d.Callers.Party(o.Owner), h.party) {
			return d.refuseHandleLocked(h, "write", &protocol.Refusal{Reason: protocol.Busy, Kind: kindOf(o), By: o.Owner, Since: o.Since})
		}
	}
	if r := d.writeMetLocked(h); r != nil {
		return d.refuseHandleLocked(h, "write", r)
	}
	return nil
}

// bytesFileLocked creates the file of a version that had none, where it belongs.
func (d *desk) bytesFileLocked(n *node) (*backing.File, error) {
	b := n.bytes
	at, err := d.placeLocked(&b.item)
	if err != nil {
		return nil, err
	}
	f, err := d.createPrivateLocked(at, b.item.Name, b.mode, b.uid, b.gid)
	if err != nil {
		d.slots.leave(at)
		return nil, err
	}
	made, err := f.Stat2()
	if err == nil {
		err = d.inheritLocked(f, d.table.byID[uint64(b.item.Base)], b.mode)
	}
	if err != nil {
		d.discardLocked(f, at)
		return nil, err
	}
	b.at, b.item.Derived, b.item.Empty = at, false, false
	d.table.identify(n, made.ID)
	return f, nil
}

// inPlace is asked before each write in place; endWrite ends what it has begun.
func (d *desk) inPlace(h *handle, buf []byte) error {
	if h.kind() != inPlaceHandle {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.mayWriteInPlaceLocked(h)
	if err == nil {
		err = d.payloadLocked(h, buf)
	}
	if err == nil {
		d.beginWriteLocked(h)
	}
	return err
}

// payloadLocked: a file that was made to be locked gets bytes. If they are no pid it is an unfinished item from now on.
func (d *desk) payloadLocked(h *handle, buf []byte) error {
	if !h.node.bytes.item.Ghost || isPID(buf) {
		return nil
	}
	c := d.call(protocol.OpPayload, h.party)
	if err := d.aboutItemLocked(h.node, c); err != nil {
		return err
	}
	if h.node.bytes.item.State == protocol.Staged {
		if err := d.syncNamesLocked(d.table.byID[uint64(h.node.bytes.item.Name.Folder)].path()); err != nil {
			return err // under its old name it would be public, with what is written now
		}
		for _, o := range h.node.bytes.handles {
			o.become(writeHandle)
			o.fenced.Store(!protocol.Kin(h.party, o.party)) // strangers had it open to lock it, not to read this
		}
	}
	return nil
}

func isPID(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '\n' && c != ' ' {
			return false
		}
	}
	return len(b) > 0 && len(b) < 16
}

// wrote keeps account of a write: how far the version reaches, who writes, what failed.
func (d *desk) wrote(h *handle, p *protocol.Party, off int64, n, want int, mapped bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := h.node.bytes
	if h.kind() == inPlaceHandle && !b.item.Ghost {
		d.markWrittenLocked(h, p)
		return
	}
	b.item.Empty, b.item.Changed = b.item.Empty && n == 0, true
	b.written, b.lastWrite = b.written+int64(n), d.Now()
	b.reach = max(b.reach, off+int64(n))
	b.mapped = b.mapped || mapped
	b.short = b.short || b.announced > 0
	if p != nil {
		d.wroteLocked(h.node, p)
	}
	if err != nil || n < want {
		d.taintLocked(h.node, protocol.Taint{Kind: protocol.TaintWrite, Detail: writeFailed(err, off+int64(n))})
	}
}

func writeFailed(err error, at int64) string {
	if err == nil {
		return "a write was cut short after " + commas(at) + " bytes"
	}
	return "a write after " + commas(at) + " bytes failed: " + cause(err)
}

// resize is ftruncate(2): a length beyond the end is announced, and must be reached by later writes.
func (d *desk) resize(h *handle, size int64) error {
	if err := d.mayResize(h); err != nil {
		return err
	}
	f, err := d.writable(h, nil)
	if err != nil {
		return err
	}
	defer d.endWrite(h)
	if err = f.Truncate(size); err != nil {
		return err
	}
	h.wrote.Store(true)
	h.node.bytes.saved.changed()
	d.announce(h, size, true)
	return nil
}

// allocate is fallocate(2); beyond the end it announces a length too. If there is no room for it, it is promised at once:
// its program knows that the file can't become what it should be, and may still close it in order.
func (d *desk) allocate(h *handle, mode uint32, off, n int64) error {
	f, err := d.writable(h, nil)
	if err != nil {
		return err
	}
	defer d.endWrite(h)
	err = f.Allocate(mode, off, n)
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if err != nil && !full {
		return err
	}
	h.node.bytes.saved.changed()
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 {
		d.announce(h, off+n, false)
	}
	if full {
		d.promise(h)
	}
	return err
}

// promise makes an announced length one that must be reached.
func (d *desk) promise(h *handle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.node.bytes.short = h.node.bytes.announced > 0
}

func (d *desk) announce(h *handle, size int64, exact bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := h.node.bytes
	b.item.Empty, b.item.Changed = b.item.Empty && size == 0, true
	switch {
	case size > max(b.reach, b.announced):
		b.announced, b.short = size, false
	case exact:
		b.reach, b.announced = min(b.reach, size), min(b.announced, size)
		if size == b.reach {
			b.announced = 0
		}
	}
}

func (d *desk) taint(n *node, t protocol.Taint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taintLocked(n, t)
}

func (d *desk) taintLocked(n *node, t protocol.Taint) {
	n.bytes.item.Taint = n.bytes.item.Taint.Worse(t)
}
