package fusefs

import (
	"slices"
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// unsettled are decisions about an item that the disk refused, or that came after such a one. They are made again, at
// longer and longer intervals and whenever the name is looked up, until they succeed: nobody else would come back to the
// item.
type unsettled struct {
	calls   []postponed // in the order in which they came
	err     error       // of the first
	wait    time.Duration
	running bool
}

// postponed is a decision that is still to be made.
type postponed struct {
	call
	owner protocol.PartyID // of the item, when it came
}

// over: the end of a claim, or of a writer, is about who had the item then. It may be somebody else's by now.
func (p *postponed) over(i *protocol.Item) bool {
	return (p.Op == protocol.OpEnded || p.Op == protocol.OpReleased) && i.Owner != p.owner
}

const (
	firstRetry   = 100 * time.Millisecond
	longestRetry = 30 * time.Second
)

// settleLocked decides about an item by itself where nobody waits for the outcome: now, or when the disk lets it.
func (d *desk) settleLocked(n *node, c *call) {
	d.retryLocked(n)
	now := postponed{*c, n.bytes.item.Owner}
	if u := n.bytes.unsettled; u != nil {
		u.calls = append(u.calls, now)
		return
	}
	err := d.aboutItemLocked(n, c)
	if err == nil {
		return
	}
	d.Log.Error("an item could not be settled and will be tried again", "path", d.pathLocked(n.bytes.item.Name), "error", err)
	n.bytes.unsettled = &unsettled{calls: []postponed{now}, err: err, wait: firstRetry}
	d.retryLaterLocked(n, n.bytes.unsettled)
}

func (d *desk) retryLaterLocked(n *node, u *unsettled) {
	if d.Store.Gone() != nil {
		return
	}
	time.AfterFunc(u.wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.stopped && n.bytes.unsettled == u {
			d.retryLocked(n)
			if n.bytes.unsettled == u {
				u.wait = min(2*u.wait, longestRetry)
				d.retryLaterLocked(n, u)
			}
		}
	})
}

// settleWithinLocked: what was closed within a claim goes before the claim's own end, else it would have come too late.
func (d *desk) settleWithinLocked(claim *node) error {
	i := &claim.bytes.item
	if i.State != protocol.Claimed {
		return nil
	}
	for _, o := range slices.Clone(d.knownLocked(d.table.byID[uint64(i.Name.Folder)], i.Name.Name).Private) {
		n := d.table.byID[uint64(o.ID)]
		if n == nil || !o.InClaim || o.Base != i.ID || n.bytes.unsettled == nil {
			continue
		}
		if d.retryLocked(n); n.bytes.unsettled != nil { // or it is being tried right now
			return n.bytes.unsettled.err
		}
	}
	return nil
}

// retryLocked makes the decisions again. Deciding looks at the name, which is a reason to try again: not while it runs.
func (d *desk) retryLocked(n *node) {
	if n == nil || n.bytes.unsettled == nil || n.bytes.unsettled.running {
		return
	}
	u := n.bytes.unsettled
	u.running = true
	for len(u.calls) > 0 {
		if c := u.calls[0]; !c.over(&n.bytes.item) {
			c.At = d.Now()
			if u.err = d.aboutItemLocked(n, &c.call); u.err != nil {
				break
			}
		}
		u.calls = u.calls[1:]
	}
	u.running = false
	if len(u.calls) == 0 && n.bytes.unsettled == u {
		n.bytes.unsettled = nil
		d.tidyLocked(n)
	}
}
