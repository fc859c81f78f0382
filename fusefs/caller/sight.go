package caller

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

const maxAncestors = 64

// process returns the entry of a process by its id. cached tells that the table has known it before, so the id has not
// been anybody else's since.
func (t *Table) process(pid, depth int) (e *entry, cached bool, err error) {
	t.mu.Lock()
	e = t.byPID[pid]
	t.mu.Unlock()
	if e != nil && e.living() {
		return e, true, nil
	}
	e, err = t.sight(pid, depth)
	return e, false, err
}

// sight takes a process's facts, as far as they are safe to read in any request, and those of its ancestors within the
// session. depth counts the descendants that this is done for.
func (t *Table) sight(pid, depth int) (*entry, error) {
	e, st, err := t.openProcess(pid)
	if err != nil {
		return nil, err
	}
	s := sighting{entry: e, status: st, parent: t.parentOf(e, st, depth)}
	s.worker = t.workerOf(st)
	s.renamed = s.parent != nil && t.renamed(s.parent, st.name)
	e.leader = t.leaderOf(st.group, e, s.parent)
	kept, err := t.keep(s)
	if errors.Is(err, errForgotten) {
		return t.sight(pid, depth)
	}
	return kept, err
}

// errForgotten: the parent went out of the cache while we looked at the child.
var errForgotten = errors.New("caller: parent forgotten")

// sighting is what was found at first sight.
type sighting struct {
	entry   *entry
	status  status
	parent  *entry
	worker  string
	renamed bool // its name is not its parent's
}

// openProcess opens a process's descriptors and reads its status. That the pidfd has not fired after the status was
// read proves that all three are about one process.
func (t *Table) openProcess(pid int) (*entry, status, error) {
	e := &entry{pid: pid}
	st := status{}
	err := t.spare(func() error {
		fd, err := openPidfd(pid)
		if err != nil {
			return err
		}
		dir, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			_ = unix.Close(fd)
			return err
		}
		e.ino, e.proc, e.dir = t.inode(fd), newDescriptor(fd), newDescriptor(dir)
		if st, err = readStatus(dir, "status"); err == nil && !e.living() {
			err = unix.ESRCH
		}
		if err != nil {
			e.discard()
		}
		return err
	})
	return e, st, err
}

// parentOf returns the parent if it is in the session of the process and no border (64 generations) is between. Pid 1 is
// a parent like any other: in a container it may be the script that does the work; an init starts everything in sessions
// of their own. Session 0 began outside our pid namespace. Parent and child are in the same one also then: who leaves a
// session begins one of its own, which would show.
func (t *Table) parentOf(e *entry, st status, depth int) *entry {
	if st.ppid == 0 || depth >= maxAncestors {
		return nil
	}
	if sid, err := unix.Getsid(st.ppid); err != nil || sid != st.session {
		return nil
	}
	parent, cached, err := t.process(st.ppid, depth+1)
	if err != nil || !cached && t.parentID(e) != st.ppid { // died since, and its number may be another's
		return nil
	}
	t.movedTo(parent, st.session)
	return parent
}

// movedTo takes notice that a process is in another session than when it was seen last: `setsid sh -c …` in a folder of the
// mount is seen before it leaves its own, and then only what it starts.
func (t *Table) movedTo(e *entry, session int) {
	t.mu.Lock()
	p := e.party
	t.mu.Unlock()
	if p.Process.Session != session {
		t.review(e, p.Process.UID, p.GID, true)
	}
}

func (t *Table) parentID(e *entry) int {
	st, err := e.status()
	if err != nil {
		return 0
	}
	return st.ppid
}

func (e *entry) status() (st status, err error) {
	err = e.dir.use(func(dir int) (err error) {
		st, err = readStatus(dir, "status")
		return err
	})
	return st, err
}

// keep puts the entry into the table, unless another request was faster.
func (t *Table) keep(s sighting) (*entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := s.entry
	if old := t.byPID[e.pid]; old != nil && t.sameLocked(old, e) {
		e.discard()
		return old, nil
	}
	if s.parent != nil && t.byID[s.parent.id] != s.parent {
		e.discard()
		return nil, errForgotten
	}
	t.byPID[e.pid] = e
	e.execed, e.worker = s.renamed, worker{s.worker, s.status.uid}
	t.addLocked(e, t.viewLocked(s), s.parent)
	err := e.proc.use(func(fd int) error { return t.listen(fd, e.id, unix.EPOLLIN|unix.EPOLLONESHOT) })
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return e, nil
}

// discard closes the descriptors of an entry that is not in the table.
func (e *entry) discard() {
	e.proc.drop()
	e.dir.drop()
}

// sameLocked tells whether two entries found under one process id are about one process.
func (t *Table) sameLocked(old, e *entry) bool {
	if t.unique {
		return old.ino == e.ino
	}
	return old.living()
}

func (t *Table) viewLocked(s sighting) protocol.Party {
	p := protocol.Party{
		Process: protocol.Process{
			Host: t.here.host, Boot: t.here.boot, PID: s.entry.pid, Start: s.entry.ino,
			UID: s.status.uid, Session: s.status.session,
		},
		GID: s.status.gid, Group: s.status.group, Program: s.status.name, Worker: s.worker,
		Ancestors: ancestors(s.parent),
	}
	p.Terminal = s.parent != nil && s.parent.party.Terminal
	return p
}

// ancestors is the list of an entry whose parent this is.
func ancestors(parent *entry) []protocol.PartyID {
	if parent == nil {
		return nil
	}
	list := append([]protocol.PartyID{parent.id}, parent.party.Ancestors...)
	return list[:min(len(list), maxAncestors)]
}
