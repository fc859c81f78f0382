package fusefs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// early: people are told when this part of a time that ends something is over, so that they can still do something.
const early = 6

// endsLocked is when an item's state ends by itself if nothing happens before; zero: never.
func (d *desk) endsLocked(n *node) time.Time {
	i := &n.bytes.item
	switch {
	case i.State == protocol.Claimed && i.Readers == 0:
		if linger := d.lingerOf(d.Callers.Party(i.Owner)); linger > 0 {
			return d.lastUseLocked(i).Add(linger)
		}
	case i.State == protocol.Held && i.Barrier == protocol.BarrierQuiet:
		return i.Until
	case i.State == protocol.Parked || i.State == protocol.Abandoned:
		return i.Since.Add(d.Abandoned)
	case i.State == protocol.Quarantined && d.Quarantine.Keep > 0:
		return i.Since.Add(d.Quarantine.Keep)
	}
	return time.Time{}
}

// warningLocked says what of an item needs a person's eye, "" if nothing does: a claim that nobody uses, a file that is
// hidden for long, a decision that the disk refuses.
func (d *desk) warningLocked(n *node) string {
	i := &n.bytes.item
	hidden, long := d.Now().Sub(i.Since), d.Abandoned/early
	switch {
	case n.bytes.unsettled != nil:
		return "the backing does not let airlockfs settle it: see to the disk"
	case i.State == protocol.Claimed && i.Readers == 0:
		return d.idleWarningLocked(i)
	case i.State == protocol.Claimed:
		return d.openWarningLocked(i)
	case i.State == protocol.Quarantined && d.Quarantine.Keep > 0 && hidden >= d.Quarantine.Keep/early*(early-1):
		return fmt.Sprintf("it is removed in %s (--quarantine-keep)", span(d.Quarantine.Keep-hidden))
	case i.State == protocol.Staged && hidden >= long:
		return fmt.Sprintf("hidden for %s: is its writer stuck?", span(hidden))
	case i.State == protocol.Held && hidden >= long:
		return fmt.Sprintf("held back for %s", span(hidden))
	}
	return ""
}

// idleWarningLocked: nobody has a claimed item open, and its owner is not seen any more.
func (d *desk) idleWarningLocked(i *protocol.Item) string {
	idle, linger := d.Now().Sub(d.lastUseLocked(i)), d.lingerOf(d.Callers.Party(i.Owner))
	switch {
	case linger == 0 && idle >= d.Abandoned/early:
		return fmt.Sprintf("claimed, and not used for %s; it does not come back by itself (--linger 0)", span(idle))
	case linger > 0 && idle >= linger/early:
		return fmt.Sprintf("claimed, and not used for %s; after %s it comes back (--linger)", span(idle), span(linger))
	}
	return ""
}

// openWarningLocked: a claim that is held open comes back by no linger. Its owner may be at work, or hang.
func (d *desk) openWarningLocked(i *protocol.Item) string {
	p := d.Callers.Party(i.Owner)
	last, bound := d.lastUseLocked(i), cmp.Or(d.lingerOf(p), d.Abandoned/early)
	if d.Now().Sub(last) < bound {
		return ""
	}
	who := called(p)
	if p != nil && d.Callers.Stopped(p) {
		who += ", which is stopped"
	}
	return fmt.Sprintf("held open by %s since %s, without another call in its folder: if it hangs, airlockfs release gives it back", who, last.Format(time.DateTime))
}

// span is a duration in no more digits than people care for.
func span(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d >= time.Hour:
		unit = time.Minute
	case d >= time.Second:
		unit = time.Second
	}
	text := d.Round(unit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
