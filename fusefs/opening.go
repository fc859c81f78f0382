package fusefs

import (
	"errors"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/protocol"
)

// opening is an open that may wait. It is tried, and if it meets what somebody will let go of, tried again each time
// something of that name is let go, for --wait at most.
type opening struct {
	by    *protocol.Party
	write bool
	node  *node
	since time.Time
	last  bool // it waits no more: what it meets now is final, but for its turn

	line *openLine // where it stands in line, if it does

	// While it waits.
	on     protocol.NameKey // of this name
	met    *protocol.Refusal
	again  chan struct{} // closed when it is to be tried again
	job    protocol.Job
	number uint64 // who has waited longer has a smaller one
}

// openPatiently tries an open until it is granted, refused for good, or has waited for --wait. EINTR: it was interrupted.
// The waits are without the lock, and without the turn to read requests.
func (d *desk) openPatiently(cancel <-chan struct{}, unique uint64, try func(*opening) (*handle, error)) (*handle, error) {
	o := &opening{last: d.Config.Wait == 0}
	var over <-chan time.Time
	for {
		h, err := try(o)
		if o.again == nil {
			d.leaveLockLine(o)
			return h, err
		}
		if over == nil {
			t := time.NewTimer(d.Config.Wait)
			defer t.Stop()
			over = t.C
			d.handOn(unique)
		}
		err = d.awaitAgain(o, over, cancel)
		d.stopOpening(o)
		if err == syscall.EINTR {
			d.leaveLockLine(o)
			return nil, err
		}
	}
}

func (d *desk) leaveLockLine(o *opening) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaveLineLocked(o)
}

// waitsLocked has an open wait if it was refused because of what will be let go.
func (d *desk) waitsLocked(o *opening, c *call, n *node, err error) error {
	var r refused
	if o == nil || !errors.As(err, &r) || r.On == (protocol.NameKey{}) || o.last && !r.Line {
		return err
	}
	if full := d.waitRoomLocked(c.By.Process.UID); full != nil {
		return full
	}
	if o.since.IsZero() {
		o.since = c.At
		d.queued++
		o.number = d.queued
	}
	o.by, o.job, o.write, o.node = c.By, c.Job, c.Open.Write, n
	o.on, o.met, o.again = r.On, r.Refusal, make(chan struct{})
	d.lineUpLocked(o, c)
	d.openings[o] = struct{}{}
	return err
}

// awaitAgain waits until an open is to be tried again. EINTR: it was interrupted.
func (d *desk) awaitAgain(o *opening, over <-chan time.Time, cancel <-chan struct{}) error {
	if o.met.Line {
		return d.awaitTurn(o, o.again, cancel)
	}
	select {
	case <-o.again:
	case <-o.turn():
	case <-over:
		o.last = true
	case <-cancel:
		return syscall.EINTR
	}
	return nil
}

func (d *desk) stopOpening(o *opening) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.openings, o)
	o.again = nil
}

// letGoLocked has opens tried again that wait for something of a name. Those that wait for their turn stand in line.
func (d *desk) letGoLocked(name protocol.NameKey) {
	for o := range d.openings {
		if o.on == name && !o.met.Line {
			close(o.again)
			delete(d.openings, o)
		}
	}
}
