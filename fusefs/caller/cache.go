package caller

import (
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// addLocked gives the entry an id, keeps it, and makes room.
func (t *Table) addLocked(e *entry, p protocol.Party, parent *entry) {
	t.lastID++
	e.id, p.ID = t.lastID, t.lastID
	e.party = &p
	t.byID[e.id] = e
	t.adoptLocked(e, parent)
	e.changeLocked(func(*protocol.Party) {})
	t.placeLocked(e)
	t.shrinkLocked(t.limit)
}

// adoptLocked makes parent the entry's parent, instead of the one it had. A parent is kept as long as its children.
func (t *Table) adoptLocked(e, parent *entry) {
	former := e.parent
	e.parent = parent
	if parent != nil {
		parent.kids++
		t.placeLocked(parent)
	}
	if former != nil {
		former.kids--
		t.placeLocked(former)
	}
}

// placeLocked puts the entry in front of the list of those that may be forgotten, or takes it out, as it is now.
func (t *Table) placeLocked(e *entry) {
	if t.byID[e.id] != e {
		return // forgotten, but still in some request's hands
	}
	if pinned := e.pinnedLocked(); pinned != e.pinned {
		e.pinned = pinned
		t.pinned += map[bool]int{true: 1, false: -1}[pinned]
	}
	switch kept := e.pinned || e.kids > 0; {
	case kept && e.recent != nil:
		t.recent.Remove(e.recent)
		e.recent = nil
	case !kept && e.recent != nil:
		t.recent.MoveToFront(e.recent)
	case !kept:
		e.recent = t.recent.PushFront(e)
	}
}

// shrinkLocked forgets the least recently used parties until at most limit are left that are not pinned, but never the
// newest, and no ancestors of those that stay.
func (t *Table) shrinkLocked(limit int) {
	for t.recent.Len() > 1 && len(t.byID)-t.pinned > limit {
		t.forgetLocked(t.recent.Back().Value.(*entry))
	}
}

func (t *Table) forgetLocked(e *entry) {
	t.recent.Remove(e.recent)
	delete(t.byID, e.id)
	t.dropLocked(e)
	if t.unseen[e.party.Process.UID] == e {
		delete(t.unseen, e.party.Process.UID)
	}
	t.adoptLocked(e, nil)
}

// dropLocked gives up what finds and watches the process: once, when it has ended or is forgotten.
func (t *Table) dropLocked(e *entry) {
	if e.dropped {
		return
	}
	e.dropped = true
	if t.byPID[e.pid] == e {
		delete(t.byPID, e.pid)
	}
	for _, th := range e.threads {
		t.dropThreadLocked(th)
	}
	e.proc.drop() // leaves the epoll set with its last user
	e.dir.drop()
}

// addThreadLocked keeps a thread and makes room. The caller has checked that its process is not dropped.
func (t *Table) addThreadLocked(th *thread) {
	if old := t.threads[th.tid]; old != nil {
		t.dropThreadLocked(old)
	}
	if th.of.threads == nil {
		th.of.threads = map[uint32]*thread{}
	}
	t.threads[th.tid], th.of.threads[th.tid] = th, th
	th.recent = t.used.PushFront(th)
	for t.used.Len() > t.limit {
		t.dropThreadLocked(t.used.Back().Value.(*thread))
	}
}

func (t *Table) dropThreadLocked(th *thread) {
	t.used.Remove(th.recent)
	delete(t.threads, th.tid)
	delete(th.of.threads, th.tid)
	th.statm.drop()
}

// spare runs open, and once more with an emptied cache if the descriptors have run out.
func (t *Table) spare(open func() error) error {
	err := open()
	if err != unix.EMFILE && err != unix.ENFILE {
		return err
	}
	t.log.Warn("out of descriptors: forgetting cached callers", "error", err)
	t.mu.Lock()
	t.shrinkLocked(0)
	t.mu.Unlock()
	return open()
}
