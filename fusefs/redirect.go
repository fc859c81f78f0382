package fusefs

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// redirect remembers a thread whose open was answered with ESTALE. The kernel then looks the name up anew and opens what
// it finds, once per call: a second ESTALE would reach the program. So the look-up settles what the thread gets, all its
// further look-ups of the name give the same, and the open can't fail, whatever becomes of the name in between.
type redirect struct {
	key  protocol.NameKey
	mode protocol.OpenMode
	made *node         // a version made for this open; it is not complete before that has come
	pin  *node         // what the look-up found
	file *backing.File // of pin, if it may be replaced before the open comes
	kept bool          // pin is

	refused  error // what the second look was refused, of an open for writing
	creates  bool  // if there is nothing to open, the thread makes it
	reserved bool  // made counts this open as a writer
}

// redirectFor is how long a thread's look-up and open are waited for.
const redirectFor = time.Second

// settled is what the thread's look-ups find, nil before the first.
func (r *redirect) settled() *node {
	if r.made != nil && r.made.bytes.item.State == protocol.Staged {
		return r.made
	}
	return r.pin
}

func (d *desk) redirectLocked(tid uint32, key protocol.NameKey, c *call, dec protocol.Decision) {
	r := &redirect{key: key, mode: c.Open}
	if dec.Access == protocol.AccessRedirect {
		d.reserveLocked(r, dec.Item)
	}
	if old := d.redirects[tid]; old != nil {
		defer d.leftLocked(old.made)
		d.dropRedirectLocked(tid)
	}
	d.redirects[tid] = r
	time.AfterFunc(redirectFor, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.redirects[tid] == r {
			delete(d.redirects, tid)
		}
		r.letGo(d)
		d.undoRedirectLocked(r)
	})
}

// reserveLocked: the open that a version was made for, or joins, counts as a writer of it from now on. Else another
// thread of the caller could close the version before the open has come, and that would be redirected again.
func (d *desk) reserveLocked(r *redirect, made protocol.ItemID) {
	if r.made = d.table.byID[uint64(made)]; r.made != nil {
		r.made.bytes.item.Writers++
		r.reserved = true
	}
}

// leftLocked: an open that was waited for has not come, or has failed. If it was the last to write to the version, that is
// closed.
func (d *desk) leftLocked(n *node) {
	if n == nil || !n.bytes.item.Closed() || n.bytes.item.State != protocol.Staged || len(n.bytes.handles) > 0 {
		return
	}
	c := d.call(protocol.OpClosed, nil)
	c.Unopened = !n.bytes.flushed
	d.settleLocked(n, c)
}

// dropRedirectLocked: the open has come.
func (d *desk) dropRedirectLocked(tid uint32) {
	r := d.redirects[tid]
	if r == nil {
		return
	}
	delete(d.redirects, tid)
	r.letGo(d)
}

// letGo gives back what was kept for an open.
func (r *redirect) letGo(d *desk) {
	if r.reserved {
		r.reserved = false
		r.made.bytes.item.Writers--
	}
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
	if r.kept {
		r.kept = false
		d.keepLocked(r.pin, -1)
	}
}

// undoRedirectLocked: if the open has not come, what was settled for it is undone.
func (d *desk) undoRedirectLocked(r *redirect) {
	d.leftLocked(r.made)
	if n := r.pin; n != nil && n.bytes.unused == r && n.bytes.item.State == protocol.Claimed {
		c := d.call(protocol.OpReleased, nil)
		d.settleLocked(n, c)
	}
}

// pinLocked settles what a second look-up found. For a writer its version is begun. For a reader it is claimed at once,
// or, where reading claims nothing or the claim is the reader's already, held open.
func (d *desk) pinLocked(r *redirect, n *node, p *protocol.Party) {
	if i := &n.bytes.item; !r.mode.Write && i.State != protocol.Public {
		if protocol.Kin(d.Callers.Party(i.Owner), p) {
			d.holdOpenLocked(r, n)
		}
		return
	}
	if f, err := d.fileLocked(r.key); err != nil || d.world(f, nil).FormerOf(f, p) != nil {
		return // only the open itself makes a former claimant one that knows
	}
	c := d.call(protocol.OpOpen, p)
	c.Open, c.Item, c.Make, c.before = r.mode, protocol.ItemID(n.id), protocol.ItemID(d.table.nextID()), r.refused
	onlyLooks, err := d.mayNotSettleLocked(n, p)
	c.Observer = c.Observer || !r.mode.Write && onlyLooks
	if err != nil || d.likeLocked(c, n) != nil {
		return
	}
	dec, err := d.decideLocked(c, func() (*protocol.World, error) {
		f, err := d.fileLocked(r.key)
		return d.world(f, nil), err
	})
	r.refused = err
	switch {
	case err != nil, dec.Access == protocol.AccessWrite, dec.Access == protocol.AccessInPlace && r.mode.Write:
	case dec.Access == protocol.AccessRedirect:
		d.reserveLocked(r, dec.Item)
	case dec.Access == protocol.AccessClaim:
		r.pin, n.bytes.unused = n, r
	default:
		d.holdOpenLocked(r, n)
	}
}

func (d *desk) holdOpenLocked(r *redirect, n *node) {
	f, _, err := d.Store.Open(n.bytes.at, unix.O_RDONLY)
	if err != nil {
		return
	}
	if n.bytes.item.State == protocol.Public && n.tornLocked(f) {
		f.Close()
		return
	}
	r.pin, r.file, r.kept = n, f, true
	d.keepLocked(n, 1)
}

// openPinnedLocked is the open that a pin was waiting for. What is private still is opened like anything else.
func (d *desk) openPinnedLocked(n *node, c *call, tid uint32) *handle {
	r := d.redirects[tid]
	if r == nil || r.pin != n || r.file == nil || c.Open.Write || n.bytes.item.Private() {
		return nil
	}
	h := &handle{node: n, party: c.By, read: true, file: r.file}
	if n.bytes.item.Match.Class.InPlace() {
		h.become(inPlaceHandle)
	}
	r.file = nil
	d.attachLocked(h)
	d.dropRedirectLocked(tid)
	return h
}

// keepLocked counts those who must find a node again although the kernel may have forgotten it.
func (d *desk) keepLocked(n *node, by int) {
	n.bytes.kept += by
	if by < 0 {
		d.tidyLocked(n)
	}
}
