package fusefs

import (
	"fmt"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// quarantine is an account of what is in quarantine, so that its bounds cost no look at the disk, with one clock for all
// of it. Guarded by desk.mu.
type quarantine struct {
	bytes map[*node]int64 // what each item takes on the disk
	total int64
	timer *time.Timer
	due   time.Time // when the timer fires; zero: it does not
}

// mostAtOnce bounds how many items are removed before others get their turn with the desk.
const mostAtOnce = 256

// countQuarantineLocked takes an item into account, or out of it, as its state now is.
func (d *desk) countQuarantineLocked(n *node) {
	q := &d.quarantine
	size, known := q.bytes[n]
	in := n.bytes.item.State == protocol.Quarantined
	switch {
	case in && !known:
		if st, err := d.statLocked(n); err == nil {
			size = int64(st.Blocks) * unitOfBlocks
		}
		if q.bytes == nil {
			q.bytes = map[*node]int64{}
		}
		q.bytes[n] = size
		q.total += size
		d.boundAtLocked(d.Quarantine.Next([]protocol.Kept{{Since: n.bytes.item.Since}}))
		if d.Quarantine.Most > 0 && q.total > d.Quarantine.Most {
			d.boundAtLocked(d.Now())
		}
	case known && !in:
		delete(q.bytes, n)
		q.total -= size
	}
}

// boundAtLocked has the bounds applied at a time, zero: never.
func (d *desk) boundAtLocked(at time.Time) {
	q := &d.quarantine
	if at.IsZero() || d.stopped || !q.due.IsZero() && !at.Before(q.due) {
		return
	}
	q.stop()
	q.due = at
	q.timer = time.AfterFunc(at.Sub(d.Now()), d.boundQuarantine)
}

func (q *quarantine) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}

// boundQuarantine lets go of what exceeds the bounds, and sets the clock for the next.
func (d *desk) boundQuarantine() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.quarantine.due = time.Time{}
	gone := d.Quarantine.Excess(d.keptLocked(), d.Now())
	for _, x := range gone[:min(len(gone), mostAtOnce)] {
		n := d.table.byID[uint64(x.Item)]
		c := d.call(protocol.OpExpired, nil)
		c.why = x.Why
		d.settleLocked(n, c)
	}
	if len(gone) > mostAtOnce {
		d.boundAtLocked(d.Now())
	}
	d.boundAtLocked(d.Quarantine.Next(d.keptLocked()))
}

// keptLocked is what is in quarantine, but for what the disk does not let go of.
func (d *desk) keptLocked() []protocol.Kept {
	var all []protocol.Kept
	for n, size := range d.quarantine.bytes {
		if i := &n.bytes.item; n.bytes.unsettled == nil {
			all = append(all, protocol.Kept{Item: i.ID, Since: i.Since, UID: i.UID, Bytes: size})
		}
	}
	return all
}

func (d *desk) quarantineLocked() *report.Quarantine {
	return &report.Quarantine{Items: len(d.quarantine.bytes), Bytes: d.quarantine.total, Most: d.Quarantine.Most}
}

// quarantineWarningLocked: what failed will soon push out what failed before it.
func (d *desk) quarantineWarningLocked() []string {
	if !d.Quarantine.Near(d.quarantine.total) {
		return nil
	}
	return []string{fmt.Sprintf("the quarantine takes %s of at most %s bytes: the oldest in it go first (--quarantine-max)",
		commas(d.quarantine.total), commas(d.Quarantine.Most))}
}
