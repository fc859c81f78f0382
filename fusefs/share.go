package fusefs

import (
	"sync"
	"syscall"
)

// What all users of a mount share. One of them gets half of it at most, so that the others can still work, whatever he
// hoards; root and the mount's owner get what is there. Space on the disk is shared out by its quotas: unfinished and
// hidden files are their owner's from the first byte.
const (
	mostWaits   = 8192    // lock requests and opens that wait
	mostLocks   = 24576   // locks on one inode
	mostReports = 64      // open control files; each is a few megabytes at most
	mostNames   = 4 << 20 // in listings that are being read
	mostCopies  = 8       // versions that are being copied
)

// share is what one user keeps, or all of them.
type share struct{ files, owners int }

// descriptors is what that takes.
func (s share) descriptors() int { return s.files + perOwner*s.owners }

// countLocked adds to what a user keeps. Of who keeps nothing nothing is kept.
func (d *desk) countLocked(uid uint32, files, owners int) {
	s := d.shares[uid]
	s.files, s.owners = s.files+files, s.owners+owners
	d.shared.files, d.shared.owners = d.shared.files+files, d.shared.owners+owners
	if d.shares[uid] = s; s == (share{}) {
		delete(d.shares, uid)
	}
}

// tooMuch tells whether a user who keeps own of something would get more than his share, or any user more than there is.
func (d *desk) tooMuch(uid uint32, own, all, most int) bool {
	return all >= most || own >= most/2 && !d.oversees(uid)
}

// waitRoomLocked refuses to let one more lock request or open wait.
func (d *desk) waitRoomLocked(uid uint32) error {
	own, all := 0, len(d.waits)+len(d.openings)
	if all >= mostWaits/2 {
		for _, w := range d.waits {
			if w.uid == uid {
				own++
			}
		}
		for o := range d.openings {
			if o.by.Process.UID == uid {
				own++
			}
		}
	}
	if d.tooMuch(uid, own, all, mostWaits) {
		return syscall.ENOLCK
	}
	return nil
}

// lockRoomLocked refuses one more lock on an inode.
func (d *desk) lockRoomLocked(n *node, uid uint32) error {
	all, own := n.bytes.locksOf().Count(), 0
	if all >= mostLocks/2 && !d.oversees(uid) {
		for _, l := range n.bytes.locksOf().Held() {
			if d.uidOf(l.By) == uid {
				own++
			}
		}
	}
	if d.tooMuch(uid, own, all, mostLocks) {
		return syscall.ENOLCK
	}
	return nil
}

// mostNamesOf is how many names in listings a user may keep.
func (d *desk) mostNamesOf(uid uint32) int {
	if d.oversees(uid) {
		return mostNames
	}
	return mostNames / 2
}

// reportRoom tells whether a user may open one more control file.
func (d *desk) reportRoom(uid uint32) bool {
	d.controls.mu.Lock()
	defer d.controls.mu.Unlock()
	own := 0
	for _, o := range d.controls.opened {
		if o.uid == uid {
			own++
		}
	}
	return d.oversees(uid) || !d.tooMuch(uid, own, len(d.controls.opened), mostReports)
}

// copies are the copies under way. Whoever comes too many waits for his turn.
type copies struct {
	mu    sync.Mutex
	ended *sync.Cond
	byUID map[uint32]int
	all   int
}

func newCopies() *copies {
	c := &copies{byUID: map[uint32]int{}}
	c.ended = sync.NewCond(&c.mu)
	return c
}

// begin waits for the turn of one more copy; the caller calls what it returns when that has ended.
func (c *copies) begin(uid uint32) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.all >= mostCopies || c.byUID[uid] >= mostCopies/2 {
		c.ended.Wait()
	}
	c.all++
	c.byUID[uid]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.byUID[uid]--; c.byUID[uid] == 0 {
			delete(c.byUID, uid)
		}
		c.ended.Broadcast()
	}
}
