package caller

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// current returns the view that holds for this request: a process may have changed its user, its session, its group,
// or (as long as nothing better says whether it has exec'ed) its name.
func (t *Table) current(e *entry, uid, gid uint32) *protocol.Party {
	if e.pid == 0 {
		return e.party
	}
	session, err := unix.Getsid(e.pid)
	group, failed := unix.Getpgid(e.pid)
	seen := err == nil && failed == nil
	t.mu.Lock()
	t.placeLocked(e)
	p := e.party
	moved := seen && (p.Process.Session != session || p.Group != group)
	doubtful := e.parent != nil && !e.execed && !e.known.flags
	if !moved && !doubtful {
		p = e.asUserLocked(uid, gid)
		t.mu.Unlock()
		return p
	}
	t.mu.Unlock()
	return t.review(e, uid, gid, moved)
}

// asUserLocked returns the view with the credentials of the request.
func (e *entry) asUserLocked(uid, gid uint32) *protocol.Party {
	if e.party.Process.UID != uid || e.party.GID != gid {
		e.changeLocked(func(p *protocol.Party) { p.Process.UID, p.GID, p.Worker = uid, gid, e.worker.as(uid) })
	}
	return e.party
}

// review reads a known process's status again. A process in another session has left its parent behind.
func (t *Table) review(e *entry, uid, gid uint32, moved bool) *protocol.Party {
	st, err := e.status()
	leader, parent := uint64(0), (*entry)(nil)
	if err == nil && moved {
		parent = t.parentOf(e, st, 0)
		leader = t.leaderOf(st.group, e, parent)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		return e.asUserLocked(uid, gid)
	}
	if moved {
		t.moveLocked(e, st, parent, leader)
	}
	if st.name != e.party.Program {
		e.execed = true
		e.changeLocked(func(p *protocol.Party) { p.Program = st.name })
	}
	return e.asUserLocked(uid, gid)
}

func (t *Table) moveLocked(e *entry, st status, parent *entry, leader uint64) {
	e.leader = leader
	left := st.session != e.party.Process.Session
	if left {
		t.adoptLocked(e, parent)
	}
	e.changeLocked(func(p *protocol.Party) {
		p.Group = st.group
		if left {
			p.Process.Session, p.Ancestors = st.session, ancestors(e.parent)
			p.Terminal = e.parent != nil && e.parent.party.Terminal
		}
	})
	e.known.exe = file{} // to be learnt anew, with the terminal
}

// learn reads the caller's own exe and, unless nothing can have changed since it last did, its stat.
func (t *Table) learn(e *entry, p *protocol.Party) *protocol.Party {
	st, exe, shell := stat{}, file{}, false
	err := e.dir.use(func(dir int) (err error) {
		exe = programFile(dir)
		if t.knows(e, exe) {
			return unix.EALREADY
		}
		shell = isShell(programName(dir))
		st, err = readStat(dir, "stat")
		return err
	})
	if err != nil {
		return p
	}
	t.mu.Lock()
	e.known.exe, e.known.shell = exe, shell
	p = t.noteLocked(e, st)
	t.mu.Unlock()
	return t.learnPrompts(e, p)
}

// knows tells whether what exec changes is known: a process that has exec'ed once has exec'ed, and runs the same file.
func (t *Table) knows(e *entry, exe file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.known.flags && e.execed && exe != (file{}) && exe == e.known.exe
}

// noteLocked takes over what a stat says. Task flags are proof, whatever the name suggested. A session that has lost
// its terminal, as at its leader's exit, had one when it mattered.
func (t *Table) noteLocked(e *entry, st stat) *protocol.Party {
	e.known.flags, e.execed = true, st.execed()
	p := e.party
	if !t.unique && p.Process.Start != st.start || p.Program != st.name {
		e.changeLocked(func(p *protocol.Party) {
			p.Program = st.name
			if !t.unique {
				p.Process.Start = st.start
			}
		})
	}
	if st.tty != 0 {
		e.terminalLocked()
	}
	return e.party
}

// terminalLocked notes that the session has a terminal, for the entry and its ancestors.
func (e *entry) terminalLocked() {
	session := e.party.Process.Session
	for a := e.parent; a != nil && !a.party.Terminal && a.party.Process.Session == session; a = a.parent {
		a.changeLocked(func(p *protocol.Party) { p.Terminal = true })
	}
	if !e.party.Terminal {
		e.changeLocked(func(p *protocol.Party) { p.Terminal = true })
	}
}

// maySee tells whether stat shows us the party's wait status: it shows 0 to readers without the rights of ptrace.
func (t *Table) maySee(p *protocol.Party) bool {
	euid := unix.Geteuid()
	return euid == 0 || euid == int(p.Process.UID)
}

// programFile identifies /proc/PID/exe; zero if it can't. DONT_SYNC: if the file lies on our own mount, the kernel
// answers from its cache instead of asking us, who are waiting for it.
func programFile(dir int) file {
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(dir, "exe", unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st)
	})
	if err != nil {
		return file{}
	}
	return file{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino}
}

func programName(dir int) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, "exe", buf)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path.Base(string(buf[:n])), " (deleted)")
}
