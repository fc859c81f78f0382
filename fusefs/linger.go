package fusefs

import (
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// armLocked starts and stops the clocks of an item that became another: the quiet barrier, the linger, the time after
// which nobody will come back for it.
func (d *desk) armLocked(n *node, old *protocol.Item) {
	i := &n.bytes.item
	d.countQuarantineLocked(n)
	if old.State == i.State && old.Barrier == i.Barrier && old.Owner == i.Owner {
		return
	}
	if t := d.timers[n]; t != nil {
		t.Stop()
		delete(d.timers, n)
	}
	switch {
	case i.State == protocol.Held && i.Barrier == protocol.BarrierQuiet:
		d.afterLocked(n, i.Until.Sub(d.Now()), protocol.OpLifted)
	case i.State == protocol.Claimed && i.Readers == 0:
		d.lingerLocked(n)
	case i.State == protocol.Staged && i.Barrier == protocol.BarrierTemp && d.endlessLocked(i):
		d.afterLocked(n, d.Abandoned, protocol.OpExpired)
	case i.State == protocol.Parked || i.State == protocol.Abandoned:
		d.afterLocked(n, i.Since.Add(d.Abandoned).Sub(d.Now()), protocol.OpExpired)
	}
}

// afterLocked has an item decided about after a time, unless it changes before.
func (d *desk) afterLocked(n *node, wait time.Duration, op protocol.Op) {
	var t *time.Timer
	t = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timers[n] != t || d.stopped {
			return
		}
		delete(d.timers, n)
		c := d.call(op, nil)
		d.settleLocked(n, c)
	})
	d.timers[n] = t
}

// lingerLocked gives a claim back that nobody uses: no descriptor open, no call of its party on the folder for so long.
func (d *desk) lingerLocked(n *node) {
	i := &n.bytes.item
	linger := d.lingerOf(d.Callers.Party(i.Owner))
	if linger == 0 {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d.lastUseLocked(i).Add(linger).Sub(d.Now()), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timers[n] != t || d.stopped {
			return
		}
		delete(d.timers, n)
		d.lingeredLocked(n, linger)
	})
	d.timers[n] = t
}

// lingeredLocked: the time is over, unless the party was seen meanwhile.
func (d *desk) lingeredLocked(n *node, linger time.Duration) {
	i := &n.bytes.item
	if i.State != protocol.Claimed || i.Readers > 0 || d.writtenWithinLocked(n) {
		return
	}
	if d.lastUseLocked(i).Add(linger).After(d.Now()) {
		d.lingerLocked(n)
		return
	}
	d.Log.Warn("a claim was given back because nobody used it", "path", d.pathLocked(i.Name), "after", linger)
	c := d.call(protocol.OpReleased, nil)
	c.Lingered = true
	if i.Match.Class == protocol.ClassWork {
		c.Verdict.Kind = protocol.Failed
	}
	d.settleLocked(n, c)
}

// lingerOf: sessions of file servers linger a minute, callers under job control not at all beyond their process.
func (d *desk) lingerOf(p *protocol.Party) time.Duration {
	if p != nil && protocol.ServesSessions(p.Program) && (d.Linger == 0 || d.Linger > time.Minute) {
		return time.Minute
	}
	return d.Linger
}

// lastUseLocked is when an item's owner last used it: claimed it, closed it, or called on its folder.
func (d *desk) lastUseLocked(i *protocol.Item) time.Time {
	if e := d.owned[i.Owner]; e != nil && e.calls[uint64(i.Name.Folder)].After(i.Since) {
		return e.calls[uint64(i.Name.Folder)]
	}
	return i.Since
}

// usedLocked notes that a claimed item was in use until now: the last descriptor on it was closed.
func (d *desk) usedLocked(i *protocol.Item) {
	if e := d.owned[i.Owner]; e != nil {
		e.calls[uint64(i.Name.Folder)] = d.Now()
	}
}

// touchLocked notes that a claimant called on a folder.
func (d *desk) touchLocked(folder *node, p *protocol.Party) {
	e := d.owned[p.ID]
	if e == nil {
		return
	}
	e.calls[folder.id] = d.Now()
	if len(e.calls) > 2*len(e.items)+fewWhole {
		e.forgetCalls()
	}
}

// forgetCalls keeps the times of calls on folders in which the party has something.
func (e *estate) forgetCalls() {
	kept := map[uint64]time.Time{}
	for n := range e.items {
		if at, ok := e.calls[uint64(n.bytes.item.Name.Folder)]; ok {
			kept[uint64(n.bytes.item.Name.Folder)] = at
		}
	}
	e.calls = kept
}

// endlessLocked: the item belongs to processes whose end nobody will see.
func (d *desk) endlessLocked(i *protocol.Item) bool {
	p := d.Callers.Party(i.Owner)
	return p != nil && p.Unseen
}

// onlyWhileOpen: what a person at a terminal opened, and what a process opened that can't be seen from here, is claimed
// only while it is open.
func (d *desk) onlyWhileOpen(i *protocol.Item) bool {
	p := d.Callers.Party(i.Owner)
	return p == nil || p.JobControl || p.Unseen
}

// writtenWithinLocked tells whether somebody has a version open that he writes within the claim. Its last close begins the
// linger anew.
func (d *desk) writtenWithinLocked(n *node) bool {
	for _, o := range d.findLocked(n.bytes.item.Name).Private {
		if o.InClaim && o.Base == n.bytes.item.ID && !o.Closed() {
			return true
		}
	}
	return false
}

// closedWithinLocked: a version written within a claim was closed, and has not taken the claimed one's place.
func (d *desk) closedWithinLocked(claim *node) {
	if claim == nil || claim.bytes.item.State != protocol.Claimed || claim.bytes.item.Readers > 0 {
		return
	}
	d.usedLocked(&claim.bytes.item)
	d.lingerLocked(claim)
}
