package fusefs

import (
	"time"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/protocol"
)

// publisherMay is how long who published an item may look at it, and set its times and rights by name, though somebody
// has claimed it: clients that upload check what has arrived.
const publisherMay = time.Minute

// mostPublications bounds how many are remembered; the oldest go first.
const mostPublications = 1 << 16

// publications are who made what public in the last minute. By inode: the kernel, and so the node table, may have
// forgotten the file meanwhile. Guarded by desk.mu.
type publications struct {
	byInode map[backing.ID]*publication
	order   []*publication
	timer   *time.Timer // nil: nothing is remembered
}

type publication struct {
	inode backing.ID
	by    *protocol.Party
	job   caller.Job // as it was then: the process that published may be forgotten first
	at    time.Time
}

// publishLocked remembers who made an item public.
func (d *desk) publishLocked(n *node, c *call) {
	if c.By != nil && n.inode != (backing.ID{}) {
		d.publishedLocked(&publication{n.inode, c.By, d.Callers.Job(c.By.ID), c.At})
	}
}

func (d *desk) publishedLocked(made *publication) {
	p := &d.published
	if p.timer == nil {
		p.timer = time.AfterFunc(publisherMay, d.forgetPublications)
	}
	if p.byInode == nil {
		p.byInode = map[backing.ID]*publication{}
	}
	if len(p.order) >= mostPublications {
		p.dropFirst()
	}
	p.byInode[made.inode] = made
	p.order = append(p.order, made)
}

func (p *publications) dropFirst() {
	if first := p.order[0]; p.byInode[first.inode] == first {
		delete(p.byInode, first.inode)
	}
	p.order = p.order[1:]
}

// forgetPublications lets go of those whose minute is over, and is called again for the next. When there is none left, the
// tables go too: they do not shrink by themselves.
func (d *desk) forgetPublications() {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.published
	for len(p.order) > 0 && d.Now().Sub(p.order[0].at) >= publisherMay {
		p.dropFirst()
	}
	if len(p.order) == 0 || d.stopped {
		*p = publications{}
		return
	}
	p.timer.Reset(p.order[0].at.Add(publisherMay).Sub(d.Now()))
}

// publishedByLocked tells whether a caller belongs to the job that published an item, and the minute is not over.
func (d *desk) publishedByLocked(n *node, who *protocol.Party) bool {
	made, ok := d.published.byInode[n.inode]
	if !ok || d.Now().Sub(made.at) > publisherMay {
		return false
	}
	job := made.job != (caller.Job{}) && made.job == d.Callers.Job(who.ID) && made.by.Process.UID == who.Process.UID
	job = job && !protocol.ServesSessions(who.Program) // all sessions of a server are in one group
	return job || protocol.Kin(made.by, who) || protocol.Kin(who, made.by)
}
