package fusefs

import (
	"math"

	"github.com/airlockfs/airlockfs/protocol"
)

// openLine is an open's place among those who wait for the lock on a lock file. Without one it would never find the lock
// free where many lock one after the other. It is let in when its turn has come, and then leaves.
type openLine struct {
	waiter *protocol.Waiter
	wait   *lockWait
}

// granted is closed when it is the open's turn; nil if it stands in no line.
func (o *opening) turn() <-chan struct{} {
	if o.line == nil {
		return nil
	}
	return o.line.wait.granted
}

// lineUpLocked has an open stand in line for the lock that it has met, if it was that of a lock file.
func (d *desk) lineUpLocked(o *opening, c *call) {
	if o.line != nil && o.line.waiter.Granted {
		d.leaveLineLocked(o)
	}
	parent := d.table.byID[uint64(o.on.Folder)]
	if o.line != nil || parent == nil || parent.kind != folderNode || o.met.Kind != protocol.LockTitle(o.on) {
		return
	}
	n, err := d.lockFileNodeLocked(parent, o.on.Name)
	if n == nil || err != nil {
		return
	}
	k := protocol.Lock{Kind: protocol.Flock, Owner: math.MaxUint64 - o.number, End: protocol.ToEOF, By: c.By.ID, PID: c.By.Process.PID, Since: o.since}
	if o.write {
		k.Mode = protocol.WriteLock
	}
	d.keepLocked(n, 1)
	w, granted := d.lockListLocked(n).Wait(k)
	o.line = &openLine{w, &lockWait{granted: make(chan struct{}), node: n, uid: c.By.Process.UID}}
	d.waits[w] = o.line.wait
	d.queuedLocked(n, granted)
}

// leaveLineLocked: the open has been let in, or waits no more.
func (d *desk) leaveLineLocked(o *opening) {
	if o.line == nil {
		return
	}
	n, w := o.line.wait.node, o.line.waiter
	o.line = nil
	delete(d.waits, w)
	list := d.lockListLocked(n)
	if w.Granted {
		d.wakeLocked(n, list.Release(w.Lock))
	} else {
		d.wakeLocked(n, list.Cancel(w))
	}
	d.keepLocked(n, -1)
}
