package caller

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Job is the protocol's. Its Leader is the inode number of the pidfd of the group's first process that we can see; 0: not
// known. Group 0: its first process is outside our pid namespace.
type Job = protocol.Job

// Job returns the party's job: its worker; else its process group, or its parent's group for a group that was made for
// a part of the parent's work, as timeout(1) does. Zero if the party is forgotten, unseen or vanished.
func (t *Table) Job(id protocol.PartyID) Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil || e.pid == 0 {
		return Job{}
	}
	if p := e.party; p.Worker != "" {
		return Job{Worker: p.Worker, UID: p.Process.UID}
	}
	for {
		e = e.groupTopLocked()
		if !e.inheritsLocked() {
			return Job{Group: e.party.Group, Leader: e.leader}
		}
		e = e.parent
	}
}

// groupTopLocked is the farthest ancestor in the same process group.
func (e *entry) groupTopLocked() *entry {
	for e.parent != nil && e.parent.party.Group == e.party.Group {
		e = e.parent
	}
	return e
}

// JobAlive is Alive of the party's job.
func (t *Table) JobAlive(id protocol.PartyID) bool { return t.Alive(t.Job(id)) }

// Alive tells whether any process of the job exists. It costs a system call or two; a zombie that nobody waits for
// still counts in a process group.
func (t *Table) Alive(j Job) bool {
	switch {
	case j.Worker != "":
		return t.workerAlive(j)
	case j.Session != 0:
		return !t.Ended(j.Session)
	}
	if j.Group == 0 {
		return j.Leader != 0 && t.anyAlive(func(e *entry) bool { return e.party.Group == 0 && e.leader == j.Leader })
	}
	if j.Group == 1 || unix.Kill(-j.Group, 0) == unix.ESRCH {
		return false
	}
	leader := t.pidInode(j.Group)
	return leader == 0 || j.Leader == 0 || leader == j.Leader
}

// Works is Alive, and knows zombies: they have ended. It reads procfs if only they, or processes that were never seen, are
// left, so no lock may be held.
func (t *Table) Works(j Job) bool {
	if j.Worker != "" || j.Session != 0 || j.Group <= 1 || !t.Alive(j) {
		return t.Alive(j)
	}
	return t.anyAlive(func(e *entry) bool { return e.party.Group == j.Group && e.leader == j.Leader }) || t.groupWorks(j.Group)
}

// groupWorks looks through all processes for one of the group that is no zombie. If that can't be told there may be one.
func (t *Table) groupWorks(group int) bool {
	all, err := os.ReadDir("/proc")
	if err != nil || t.blind {
		return true
	}
	for _, dir := range all {
		if name := dir.Name(); name[0] < '1' || name[0] > '9' {
			continue
		}
		st, err := readStatus(unix.AT_FDCWD, "/proc/"+dir.Name()+"/status")
		if err == nil && st.group == group && st.state != 'Z' && st.state != 'X' {
			return true
		}
	}
	return false
}

func (t *Table) workerAlive(j Job) bool {
	return t.anyAlive(func(e *entry) bool { return e.party.Worker == j.Worker && e.party.Process.UID == j.UID })
}

// anyAlive tells whether a process lives that we know and that is a member.
func (t *Table) anyAlive(isMemberLocked func(*entry) bool) bool {
	t.mu.Lock()
	var members []*entry
	for _, e := range t.byPID {
		if isMemberLocked(e) {
			members = append(members, e)
		}
	}
	t.mu.Unlock()
	return slices.ContainsFunc(members, (*entry).living)
}

// pidInode identifies the process that has this id now, 0 if there is none.
func (t *Table) pidInode(pid int) uint64 {
	if !t.unique || pid <= 0 {
		return 0
	}
	fd, err := openPidfd(pid)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	return t.inode(fd)
}

// leaderOf identifies the first process of e's group. If that is gone, others of the group may have seen it. If it is
// outside our pid namespace, the first that we can see stands for it.
func (t *Table) leaderOf(group int, e, parent *entry) uint64 {
	if group == e.pid {
		return e.ino
	}
	if leader := t.leaderFrom(group, parent); leader != 0 {
		return leader
	}
	if group == 0 {
		return e.ino
	}
	if leader := t.pidInode(group); leader != 0 {
		return leader
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range t.byID {
		if other.pid != 0 && other.party.Group == group && other.leader != 0 {
			return other.leader
		}
	}
	return 0
}

func (t *Table) leaderFrom(group int, parent *entry) uint64 {
	if parent == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if parent.party.Group != group {
		return 0
	}
	return parent.leader
}
