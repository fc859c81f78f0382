package caller

import (
	"container/list"

	"github.com/airlockfs/airlockfs/protocol"
)

// entry is what the table knows about one party.
type entry struct {
	id  protocol.PartyID
	pid int    // of the process; 0: unseen, or gone before we could look
	ino uint64 // see Table.inode

	proc *descriptor // pidfd; nil with pid 0
	dir  *descriptor // /proc/PID, which goes on meaning this process when its number is reused; nil with pid 0

	// All below: GUARDED_BY(Table.mu)

	party  *protocol.Party  // the newest view
	parent *entry           // within the session, as at first sight; nil: none
	kids   int              // entries whose parent this is
	leader uint64           // inode of the group's leader, 0: unknown
	known  learnt           // by an Opener or at the exit
	execed bool             // by the newest evidence
	exit   protocol.Verdict // what its exiting close said
	end    *protocol.End    // once it ended; descriptors are dropped by then
	orphan bool             // its parent ended first

	watched bool // its end is wanted
	told    bool // its end is on its way to Table.ends
	root    bool // a worker was registered by it
	worker  worker
	pinned  bool // as counted in Table.pinned
	dropped bool // proc, dir and threads are given up
	threads map[uint32]*thread
	recent  *list.Element // in Table.recent; nil while the entry is kept
}

// learnt are the facts that only stat and exe give.
type learnt struct {
	flags bool // the task's flags were read: names are no evidence any more
	exe   file // zero: not read
	shell bool // its program file is a shell

	prompt bool // it is a shell with a person at its prompt
}

// worker is a name that a user has registered. A process that becomes another user's, by a set-user-id program, leaves it.
type worker struct {
	name string
	uid  uint32
}

func (w worker) as(uid uint32) string {
	if w.uid != uid {
		return ""
	}
	return w.name
}

// file is a program file by device and inode.
type file struct{ dev, ino uint64 }

// thread is one thread of a caller.
type thread struct {
	tid   uint32
	of    *entry
	statm *descriptor // fails with ESRCH when the thread is gone, whoever has its id now
	// GUARDED_BY(Table.mu)
	recent *list.Element
}

// living tells whether the process still runs; a zombie does not. An unseen party never ends.
func (e *entry) living() bool {
	if e.pid == 0 {
		return e.party.Unseen
	}
	living := false
	err := e.proc.use(func(fd int) error {
		living = !ended(fd)
		return nil
	})
	return err == nil && living
}

// pinnedLocked tells whether the party must stay: its end is wanted, or a worker is found through it.
func (e *entry) pinnedLocked() bool {
	return e.watched && !e.told || e.root && e.end == nil
}

// changeLocked replaces the view: a Party that was handed out never changes.
func (e *entry) changeLocked(change func(p *protocol.Party)) {
	p := *e.party
	change(&p)
	p.JobControl = e.known.prompt || e.jobControlLocked(&p)
	e.party = &p
}

func (t *thread) living() bool {
	return t.statm.use(func(fd int) error {
		_, err := readStart(fd, make([]byte, 1))
		return err
	}) == nil
}
