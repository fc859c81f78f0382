package caller

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// shells are programs whose forks go on with the same script.
var shells = map[string]bool{
	"sh": true, "bash": true, "rbash": true, "dash": true, "ash": true, "ksh": true, "ksh93": true, "mksh": true,
	"lksh": true, "pdksh": true, "oksh": true, "yash": true, "zsh": true, "fish": true, "busybox": true, "posh": true,
}

func isShell(name string) bool { return shells[name] }

// supervisors start programs, and start them again when they end. They are in the session of what they start, but do
// not go on with its work.
var supervisors = map[string]bool{
	"init": true, "systemd": true, "tini": true, "docker-init": true, "dumb-init": true, "catatonit": true,
	"supervisord": true, "runsv": true, "runsvdir": true, "supervise": true, "s6-supervise": true, "monit": true,
	"circusd": true, "cron": true, "crond": true, "anacron": true, "atd": true, "incrond": true, "inetd": true, "xinetd": true,
}

// heirOf returns who inherits from a party that has ended, if that is still there. A parent that ended after it, as
// timeout(1) does at once, has passed everything on to its own heir, unless it was killed outright.
func (t *Table) heirOf(e *entry) *protocol.Party {
	t.mu.Lock()
	heir := t.heirLocked(e)
	t.mu.Unlock()
	if heir == nil {
		return nil
	}
	end := t.settle(heir)
	switch {
	case end.Verdict.Kind == protocol.Living:
		return t.Party(heir.id)
	case killed(end.Verdict):
		return nil
	}
	return end.Heir
}

// Heir returns who would inherit from a party if it ended now, as far as that is known; nil if nobody, or unknown. It
// reads nothing.
func (t *Table) Heir(id protocol.PartyID) *protocol.Party {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil {
		return nil
	}
	if heir := t.heirLocked(e); heir != nil {
		return heir.party
	}
	return nil
}

// heirLocked is the parent; else, for a program that a named worker has run in another session, or that outlived its
// parent, who registered the worker.
func (t *Table) heirLocked(e *entry) *entry {
	if e.inheritsLocked() && !e.orphan {
		return e.parent
	}
	if e.party.Worker == "" || e.root || !e.execed {
		return nil
	}
	for _, root := range t.byPID {
		if root.root && root.end == nil && root.party.Worker == e.party.Worker && root.party.Process.UID == e.party.Process.UID {
			return root
		}
	}
	return nil
}

// killed leaves out the signals that are a way to end work; timeout(1) dies by the same signal as its command.
func killed(v protocol.Verdict) bool {
	switch syscall.Signal(v.Status) {
	case unix.SIGPIPE, unix.SIGINT, unix.SIGHUP, unix.SIGTERM, unix.SIGQUIT:
		return false
	}
	return v.Kind == protocol.Killed
}

// orphanLocked notes which children outlive their parent: they won't have an heir.
func (t *Table) orphanLocked(parent *entry) {
	if parent.kids == 0 {
		return
	}
	for _, e := range t.byPID {
		if e.parent == parent && e.living() {
			e.orphan = true
		}
	}
}

// inheritsLocked tells whether the parent works on with what the party leaves: it ran the party as a program or, being a
// shell, as a part of its script, in its own session, and has not put it aside as a job of a user at a terminal.
func (e *entry) inheritsLocked() bool {
	if e.parent == nil || e.parent.party.Process.Session != e.party.Process.Session || e.party.JobControl {
		return false
	}
	if supervisors[e.parent.party.Program] || e.parent.known.prompt {
		return false
	}
	if e.party.Worker != "" && e.parent.party.Worker != e.party.Worker {
		return false // a worker's work ends with it
	}
	return e.execed || e.subshellLocked()
}

// subshellLocked: both are shells. A script started by its #! line bears the script's name; then the program file
// tells, and a fork that has not exec'ed has its parent's.
func (e *entry) subshellLocked() bool {
	name, parent := e.party.Program, e.parent.party.Program
	if isShell(name) && isShell(parent) {
		return true
	}
	return e.known.shell && name == parent
}

// jobControlLocked tells whether an interactive shell has put the party into a process group of its own.
func (e *entry) jobControlLocked(p *protocol.Party) bool {
	return p.Terminal && e.parent != nil &&
		p.Group != e.parent.party.Group &&
		e.parent.pid == p.Process.Session
}

// renamed tells whether a process's name differs from its parent's, whose own may have changed since it was read.
func (t *Table) renamed(parent *entry, name string) bool {
	t.mu.Lock()
	known := parent.party.Program
	t.mu.Unlock()
	if known == name {
		return false
	}
	st, err := parent.status()
	if err != nil || st.name == known {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	parent.changeLocked(func(p *protocol.Party) { p.Program = st.name })
	parent.execed = true
	return st.name != name
}
