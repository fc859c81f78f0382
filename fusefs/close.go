package fusefs

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// flush is one close(2) of a descriptor, by whoever closes it; the description may live on in others. It makes the bytes
// durable, reports what failed, and notes how the writer ended if this close is its exit. It publishes nothing.
func (d *desk) flush(h *handle, p *protocol.Party, v protocol.Verdict, owner uint64) error {
	h.flushed.Store(true)
	err := d.syncBytes(h)
	d.mu.Lock()
	defer d.mu.Unlock()
	h.node.bytes.flushed = true
	d.closedByLocked(h, owner)
	d.markFlushedLocked(h, p)
	if !h.write || h.kind() != writeHandle {
		return err
	}
	if err != nil {
		return err
	}
	if v.Kind != protocol.Living && p != nil {
		d.judgeLocked(h, p, v)
	}
	if st, err := h.stat(); err == nil && st.Nlink == 0 && h.own() != nil && d.missingLocked(h.node) {
		d.lostLocked(h.node)
	}
	return d.closeErrorLocked(h)
}

// judgeLocked: a process ended with the item open. Its own end counts if it opened or wrote the item; a child that merely
// inherited the descriptor is judged only if in the end nobody wrote anything (a shell may open the file for the command
// that then fails).
func (d *desk) judgeLocked(h *handle, p *protocol.Party, v protocol.Verdict) {
	b := h.node.bytes
	t := d.verdictTaint(&b.item, p, v)
	if t.Kind == protocol.NoTaint {
		return
	}
	t.Detail = badEnd(t, p, b.written)
	if _, writer := b.writers[p.ID]; writer || p.ID == h.party.ID {
		d.taintLocked(h.node, t)
		return
	}
	b.idle = b.idle.Worse(t)
}

// badEnd says how a writer ended badly. That a session's process ended with 0 says nothing about the session.
func badEnd(t protocol.Taint, p *protocol.Party, written int64) string {
	if t.Kind == protocol.TaintSession {
		return fmt.Sprintf("the session of %s broke with the file open, after %s bytes", called(p), commas(written))
	}
	return fmt.Sprintf("writer %s %s after %s bytes", called(p), t.Verdict, commas(written))
}

// verdictTaint is what a process's end with an open unfinished item means for that.
func (d *desk) verdictTaint(i *protocol.Item, p *protocol.Party, v protocol.Verdict) protocol.Taint {
	t := protocol.Taint{Verdict: v}
	switch {
	case v.Kind == protocol.Killed:
		t.Kind = protocol.TaintKilled
	case d.role(p) == protocol.RoleServer:
		t.Kind = protocol.TaintSession
	case v.Kind == protocol.Failed && !i.Match.NonzeroExit, v.Kind == protocol.Unknown && d.UnknownFails:
		t.Kind = protocol.TaintExit
	}
	return t
}

// closeErrorLocked is what close(2) tells the writer: the item was discarded, a write failed, or the version is too late.
func (d *desk) closeErrorLocked(h *handle) error {
	i := &h.node.bytes.item
	if h.node.bytes.lost && h.wrote.Load() {
		return d.refuseHandleLocked(h, "close", &protocol.Refusal{Reason: protocol.WriteFailed,
			WhatNow: "somebody outside the mount removed it from the backing: write it anew"})
	}
	switch wrote := h.wrote.Load(); {
	case wrote && i.Taint.Kind == protocol.TaintBase:
		return d.refuseHandleLocked(h, "close", &protocol.Refusal{Reason: protocol.BaseGone})
	case wrote && h.fenced.Load():
		return d.refuseHandleLocked(h, "close", &protocol.Refusal{Reason: protocol.Fenced})
	case i.Taint.Kind == protocol.TaintWrite:
		return d.refuseHandleLocked(h, "close", &protocol.Refusal{Reason: protocol.WriteFailed, WhatNow: i.Taint.Detail + ": " + advice[protocol.WriteFailed]})
	}
	if i.Base == 0 && h.wrote.Load() && i.State == protocol.Staged {
		return d.tooLateLocked(h)
	}
	if i.Base == 0 || !h.wrote.Load() || i.State == protocol.Gone {
		return nil // no version of another, or removed by its own writer
	}
	base := d.table.byID[uint64(i.Base)]
	if base == nil {
		return d.refuseHandleLocked(h, "close", d.metBaseLocked(h.node, base, protocol.BaseGone))
	}
	current, err := d.currentLocked(i, base, h.party)
	if err == nil && !current {
		err = d.refuseHandleLocked(h, "close", d.metBaseLocked(h.node, base, protocol.BaseGone))
	}
	return err
}

// metBaseLocked refuses because of what became of the version that another is made from.
func (d *desk) metBaseLocked(n, base *node, why protocol.Reason) *protocol.Refusal {
	r := &protocol.Refusal{Reason: why}
	if base != nil && base.bytes.item.State == protocol.Claimed {
		r.Kind, r.By, r.Since = "claim", base.bytes.item.Owner, base.bytes.item.Since
		return r
	}
	if f, err := d.fileOfLocked(&n.bytes.item); err == nil && f.Versioned() && f.Public != nil {
		met := protocol.OutdatedBy(f)
		r.Kind, r.By, r.Since, r.Came = met.Kind, met.By, met.Since, met.Came
		if why == protocol.Busy {
			r.WhatNow = "open it again"
		}
	}
	return r
}

// currentLocked: a version may follow its base while that is public, or claimed by the writer himself. One that was begun
// within a claim needs the claim. What is public may have been replaced outside the mount.
func (d *desk) currentLocked(i *protocol.Item, base *node, writer *protocol.Party) (bool, error) {
	switch b := &base.bytes.item; b.State {
	case protocol.Public:
		st, err := d.Store.Stat(base.bytes.at)
		if errors.Is(err, syscall.ENOENT) {
			return false, nil
		}
		return !i.InClaim && st.ID == base.inode, err
	case protocol.Claimed:
		return protocol.Kin(d.Callers.Party(b.Owner), writer), nil
	}
	return false, nil
}

// release is the end of an open file description. It alone can publish.
func (d *desk) release(h *handle) {
	_ = d.syncBytes(h) // through a mapping bytes come late, and some shells flush before they write. If it fails the item says so
	d.judgeMapper(h)
	h.close() // first, lest who sees the file finds it open for writing
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releaseLocked(h)
}

// judgeMapper: a mapping outlives the descriptors it was made from, and sends no FLUSH. If its process is ending when the
// last of them goes, the mapping may have gone with it. It may also have been unmapped just before: nobody can tell.
func (d *desk) judgeMapper(h *handle) {
	d.mu.Lock()
	b := h.node.bytes
	mapped := h.counted && h.kind() == writeHandle && (b.mapped || b.announced > b.reach)
	d.mu.Unlock()
	if !mapped {
		return
	}
	v := d.Callers.Ending(h.party.ID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.Kind != protocol.Living {
		d.judgeLocked(h, h.party, v)
	}
}

func (d *desk) releaseLocked(h *handle) {
	n := h.node
	if h.kind() != writeHandle {
		d.closeLocksLocked(h)
	}
	d.detachLocked(h)
	d.markReleasedLocked(h)
	d.lastCloseLocked(h, n)
	d.closeLocksLocked(h) // then: who gets the lock finds what was published
	d.closedVersionLocked(n.bytes)
	d.tidyLocked(n)
	d.releasedLocked(h)
}

// lastCloseLocked decides about the item if this was the last descriptor that mattered.
func (d *desk) lastCloseLocked(h *handle, n *node) {
	c := d.call(protocol.OpClosed, h.party)
	i := &n.bytes.item
	switch {
	case h.counted && i.Writers == 0:
		if !d.writersGoneLocked(h, n, c) {
			return
		}
	case h.kind() == claimHandle && i.State == protocol.Claimed && i.Readers == 0:
		if i.Ending.Kind == protocol.Living && !d.onlyWhileOpen(i) {
			d.usedLocked(i)
			d.lingerLocked(n)
			return
		}
		c.Op = protocol.OpReleased
	case !i.Ghost || len(n.bytes.handles) > 0:
		return
	}
	if i.InClaim {
		defer d.closedWithinLocked(d.table.byID[uint64(i.Base)])
	}
	d.settleLocked(n, c)
}

// writersGoneLocked: the last writer is gone. It answers whether there is something to decide, and sets the call for it.
func (d *desk) writersGoneLocked(h *handle, n *node, c *call) bool {
	b := n.bytes
	if b.promised() && b.reach < b.announced {
		d.taintLocked(n, protocol.Taint{Kind: protocol.TaintShort,
			Detail: fmt.Sprintf("%s bytes were announced, %s were written", commas(b.announced), commas(b.reach))})
	}
	if b.item.Empty && !b.item.Derived {
		d.taintLocked(n, b.idle)
	}
	c.Unopened = !h.flushed.Load() && !h.wrote.Load()
	if b.item.State == protocol.Held && b.item.Barrier == protocol.BarrierForeign {
		c.Op = protocol.OpLifted
		return true
	}
	return b.item.State != protocol.Public || b.item.Ghost && len(b.handles) == 0 || !b.item.Ghost && b.class != ""
}

// called names a party for people.
func called(p *protocol.Party) string {
	if p == nil {
		return "somebody"
	}
	if p.Unseen {
		return fmt.Sprintf("a process of uid %d that can't be seen from here", p.Process.UID)
	}
	return fmt.Sprintf("pid %d (%s)", p.Process.PID, p.Program)
}
