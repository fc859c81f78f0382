package caller

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Register makes the calling process, and its descendants of the same user that are first seen later, members of the
// named worker. The process should be a child subreaper (prctl(2)): then no descendant loses its line to it, whatever
// session it is in. It fails for an empty name and for a caller that can't be seen or has ended.
func (t *Table) Register(tid, uid, gid uint32, name string) (*protocol.Party, error) {
	if name == "" {
		return nil, errors.New("caller: a worker needs a name")
	}
	e := t.resolve(tid, uid, gid)
	p := t.current(e, uid, gid)
	if e.pid == 0 {
		return nil, fmt.Errorf("caller: thread %d of uid %d can't be seen, so it can't be worker %q: %w", tid, uid, name, unix.ESRCH)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.end != nil || t.byID[e.id] != e {
		return nil, fmt.Errorf("caller: process %d has ended, so it can't be worker %q", p.Process.PID, name)
	}
	e.root = true
	t.workers = true
	e.worker = worker{name, uid}
	e.changeLocked(func(p *protocol.Party) { p.Worker = name })
	t.placeLocked(e)
	return e.party, nil
}

// workerOf finds the worker of the nearest ancestor of the same user that has one, in any session.
func (t *Table) workerOf(st status) string {
	for range maxAncestors {
		t.mu.Lock()
		e, any := t.byPID[st.ppid], t.workers
		t.mu.Unlock()
		if !any || st.ppid == 0 {
			return ""
		}
		if name := t.workerAs(e, st.uid); name != "" {
			return name
		}
		above, err := readStatus(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/status", st.ppid))
		if err != nil {
			return ""
		}
		st.ppid = above.ppid
	}
	return ""
}

// workerAs is the worker of a living process, for a descendant of this user.
func (t *Table) workerAs(e *entry, uid uint32) string {
	if e == nil || !e.living() {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.party.Process.UID != uid {
		return ""
	}
	return e.party.Worker
}
