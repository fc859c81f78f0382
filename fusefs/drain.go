package fusefs

import (
	"slices"
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// drain is the last time of a mount that is about to end: nothing new begins, and what is under way may finish.
type drain struct {
	until time.Time
	done  chan struct{} // closed when nothing is under way any more
}

// Drain has the mount begin nothing new, but for who holds something already. until is only told to people. The channel
// is closed when nobody who lives holds a claim or an unfinished file any more. It is called once.
func (m *Mounted) Drain(until time.Time) <-chan struct{} {
	m.desk.mu.Lock()
	defer m.desk.mu.Unlock()
	m.desk.drain = &drain{until, make(chan struct{})}
	m.desk.drainedLocked()
	return m.desk.drain.done
}

// UnderWay says what a drain waits for: a sentence each.
func (m *Mounted) UnderWay() []string {
	m.desk.mu.Lock()
	defer m.desk.mu.Unlock()
	var all []string
	for _, n := range m.desk.underWayLocked() {
		i := &n.bytes.item
		does := " is writing "
		if i.State == protocol.Claimed {
			does = " has claimed "
		}
		all = append(all, called(m.desk.Callers.Party(i.Owner))+does+m.desk.pathLocked(i.Name))
	}
	slices.Sort(all)
	return all
}

// Halt has everything that is not being done already wait for ever: the process is about to end.
func (m *Mounted) Halt() {
	m.desk.stop()
	m.desk.mu.Lock()
}

// underWayLocked are the claimed and unfinished items, which all have an owner that lives.
func (d *desk) underWayLocked() []*node {
	var all []*node
	for _, e := range d.owned {
		for n := range e.items {
			if s := n.bytes.item.State; s == protocol.Staged || s == protocol.Claimed {
				all = append(all, n)
			}
		}
	}
	return all
}

func (d *desk) drainedLocked() {
	if d.drain == nil || len(d.underWayLocked()) > 0 {
		return
	}
	select {
	case <-d.drain.done:
	default:
		close(d.drain.done)
	}
}

// idleLocked: the mount is about to end, and a party holds nothing that it could finish.
func (d *desk) idleLocked(p *protocol.Party) bool {
	if d.drain == nil || p == nil {
		return false
	}
	return !slices.ContainsFunc(d.underWayLocked(), func(n *node) bool {
		return protocol.Kin(d.Callers.Party(n.bytes.item.Owner), p)
	})
}
