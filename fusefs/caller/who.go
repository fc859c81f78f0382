package caller

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Who resolves the thread and the credentials of a request to its party; thread 0, a caller in a pid namespace that the
// daemon can't see, to the unseen party of that uid. It reads procfs, so no lock may be held. It never returns nil: a
// caller that was killed meanwhile is a party of its own that has ended.
func (t *Table) Who(tid, uid, gid uint32) *protocol.Party {
	return t.current(t.resolve(tid, uid, gid), uid, gid)
}

// Opener is Who in OPEN or CREATE, and only there: it also learns whether the process has a terminal, whether it has
// exec'ed, and its program file.
func (t *Table) Opener(tid, uid, gid uint32) *protocol.Party {
	e := t.resolve(tid, uid, gid)
	p := t.current(e, uid, gid)
	if e.pid == 0 {
		return p
	}
	return t.learn(e, p)
}

// Mover is Who in calls that change names: it learns what Opener does from a process that has not opened anything yet.
func (t *Table) Mover(tid, uid, gid uint32) *protocol.Party {
	e := t.resolve(tid, uid, gid)
	p := t.current(e, uid, gid)
	t.mu.Lock()
	learnt := e.pid == 0 || e.known.flags
	t.mu.Unlock()
	if learnt {
		return p
	}
	return t.learn(e, p)
}

// mostSights is how often in a row a caller that was pushed out of the cache is looked at anew: no other request is read
// meanwhile.
const mostSights = 8

// Closing is Who in FLUSH, and only there. If the close is part of the process's exit, the verdict says how it ends;
// for an ordinary close its kind is Living, for a caller that can't be seen Unknown. A forked child that merely exits
// with an inherited descriptor gets a verdict too: it is the child's.
func (t *Table) Closing(tid, uid, gid uint32) (*protocol.Party, protocol.Verdict) {
	e := t.resolve(tid, uid, gid)
	exits, err := t.exits(e, tid)
	for tries := 0; err == unix.EBADF && e.pid != 0 && tries < mostSights; tries++ { // other requests have pushed it out of the cache just now
		e = t.resolve(tid, uid, gid)
		exits, err = t.exits(e, tid)
	}
	p := t.current(e, uid, gid)
	switch {
	case err != nil:
		return p, protocol.Verdict{Kind: protocol.Unknown}
	case exits:
		return t.exiting(e, p, tid)
	}
	return p, protocol.Verdict{}
}

// resolve finds the entry. A process is proved to be the cached one by its pidfd, another thread by its statm.
func (t *Table) resolve(tid, uid, gid uint32) *entry {
	if tid == 0 || t.blind {
		return t.unseenBy(uid, gid)
	}
	t.mu.Lock()
	e, th := t.byPID[int(tid)], t.threads[tid]
	t.mu.Unlock()
	if e != nil && e.living() {
		return e
	}
	if th != nil && int(tid) != th.of.pid && th.living() {
		return th.of
	}
	return t.meet(tid, uid, gid)
}

func (t *Table) unseenBy(uid, gid uint32) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.unseen[uid]; e != nil {
		t.placeLocked(e)
		return e
	}
	if !t.warned {
		t.warned = true
		t.log.Warn("callers in a pid namespace that can't be seen from here: all of one user count as one, and claims last while they are open",
			"uid", uid, "proc of another namespace", t.blind)
	}
	e := &entry{}
	p := protocol.Party{GID: gid, Unseen: true}
	p.Process = protocol.Process{Host: t.here.host, Boot: t.here.boot, UID: uid}
	t.unseen[uid] = e
	t.addLocked(e, p, nil)
	return e
}

// meet makes the acquaintance of a thread.
func (t *Table) meet(tid, uid, gid uint32) *entry {
	e, err := t.sight(int(tid), 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // not a main thread
		e, err = t.meetThread(tid)
	}
	if err != nil {
		return t.vanished(tid, uid, gid, err)
	}
	return e
}

func (t *Table) meetThread(tid uint32) (*entry, error) {
	st, err := readStatus(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return nil, err
	}
	e, _, err := t.process(st.tgid, 0)
	if err != nil {
		return nil, err
	}
	_, err = t.thread(e, tid)
	return e, err
}

// thread returns the cached thread of a process. Its statm is found below the process, so it is one of its threads.
func (t *Table) thread(e *entry, tid uint32) (*thread, error) {
	t.mu.Lock()
	th := t.threads[tid]
	if th != nil && th.of == e {
		t.used.MoveToFront(th.recent)
		t.mu.Unlock()
		return th, nil
	}
	t.mu.Unlock()
	fd := -1
	err := t.spare(func() error {
		return e.dir.use(func(dir int) (err error) {
			fd, err = unix.Openat(dir, fmt.Sprintf("task/%d/statm", tid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return t.keepThread(&thread{tid: tid, of: e, statm: newDescriptor(fd)}), nil
}

func (t *Table) keepThread(th *thread) *thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch old := t.threads[th.tid]; {
	case th.of.dropped:
		th.statm.drop()
	case old != nil && old.of == th.of:
		th.statm.drop()
		return old
	default:
		t.addThreadLocked(th)
	}
	return th
}

// vanished makes a party for a caller that is gone already. It is nobody's kin and has ended.
func (t *Table) vanished(tid, uid, gid uint32, err error) *entry {
	t.log.Debug("the caller is gone", "tid", tid, "uid", uid, "error", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &entry{dropped: true}
	p := protocol.Party{GID: gid}
	p.Process = protocol.Process{Host: t.here.host, Boot: t.here.boot, UID: uid}
	t.addLocked(e, p, nil)
	e.end = &protocol.End{Party: e.id, Verdict: protocol.Verdict{Kind: protocol.Unknown}}
	return e
}

// exits tells whether the thread, which waits in FLUSH, closes because it exits.
func (t *Table) exits(e *entry, tid uint32) (bool, error) {
	th, err := t.thread(e, tid)
	if err != nil {
		return false, err
	}
	var buf [16]byte
	n := 0
	err = th.statm.use(func(fd int) (err error) {
		n, err = readStart(fd, buf[:])
		return err
	})
	return noMemory(buf[:n]), err
}

// exiting reads how an exiting thread's process ends: stat is safe, since it can't exec any more.
func (t *Table) exiting(e *entry, p *protocol.Party, tid uint32) (*protocol.Party, protocol.Verdict) {
	st := stat{}
	err := e.dir.use(func(dir int) (err error) {
		st, err = readStat(dir, fmt.Sprintf("task/%d/stat", tid))
		return err
	})
	if err != nil || !t.maySee(p) {
		return p, protocol.Verdict{Kind: protocol.Unknown}
	}
	if !st.exiting() { // a kernel thread, which never has memory
		return p, protocol.Verdict{}
	}
	v := protocol.VerdictOf(st.exit)
	t.mu.Lock()
	defer t.mu.Unlock()
	e.exit = v
	return t.noteLocked(e, st), v
}
