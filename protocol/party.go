package protocol

import "fmt"

// PartyID names a party for the daemon's lifetime. Ids are given out by whoever knows the processes (package caller)
// and are never reused. 0 is nobody.
type PartyID uint64

// Party is who acts: a process, as it was when it was first seen. A Party is immutable after it was handed out, so it
// may be read without a lock.
type Party struct {
	ID      PartyID
	Process Process // what the disk needs to know the process again after a restart
	GID     uint32
	Group   int    // process group
	Program string // task name ("comm"); it can only take rights away, never give any
	Worker  string // name registered by `airlockfs run --worker`, "" if none

	// Terminal: the process has a controlling terminal.
	Terminal bool
	// JobControl: an interactive shell put it into a process group of its own: it leads or is in a group other than
	// its parent's, and that parent leads a session that has a terminal.
	JobControl bool
	// Ancestors are the party's living ancestors within its session when it was first seen, nearest first, at most 64.
	Ancestors []PartyID
	// Unseen: the process lives in a pid namespace the daemon can't see (pid 0). Kin is then everyone of the same uid.
	Unseen bool
}

// Kin tells whether who may act for a hold of party of: the process itself, its living descendants in the same
// session of the same user or root, and everybody registered under the same worker name and uid.
func Kin(of, who *Party) bool {
	if of == nil || who == nil {
		return false
	}
	if of.ID == who.ID {
		return true
	}
	sameUser := of.Process.UID == who.Process.UID
	if of.Unseen || who.Unseen {
		return of.Unseen && who.Unseen && sameUser
	}
	if of.Worker != "" && of.Worker == who.Worker && sameUser {
		return true
	}
	if of.Process.Session != who.Process.Session || !(sameUser || who.Process.UID == 0) {
		return false
	}
	for _, a := range who.Ancestors {
		if a == of.ID {
			return true
		}
	}
	return false
}

// Verdict says how a party, or one of its descriptors, ended.
type Verdict struct {
	Kind   VerdictKind
	Status int // exit status for Failed, signal number for Killed
}

// VerdictKind is the outcome of a process; the zero value means that it has not ended.
type VerdictKind uint8

const (
	Living VerdictKind = iota
	Clean
	Failed
	Killed
	Unknown
)

// VerdictOf translates a wait status (wait(2)) into a verdict.
func VerdictOf(status uint32) Verdict {
	if sig := int(status & 0x7f); sig != 0 {
		return Verdict{Kind: Killed, Status: sig}
	}
	if code := int(status>>8) & 0xff; code != 0 {
		return Verdict{Kind: Failed, Status: code}
	}
	return Verdict{Kind: Clean}
}

func (v Verdict) String() string {
	switch v.Kind {
	case Living:
		return "still running"
	case Clean:
		return "ended with 0"
	case Failed:
		return fmt.Sprintf("ended with %d", v.Status)
	case Killed:
		return fmt.Sprintf("killed by signal %d", v.Status)
	}
	return "ended, nobody knows how"
}

// End is the news that a party has ended. Heir is the party that inherits its claims and temp names, or nil
// (section 3 of docs/protocol.md).
type End struct {
	Party   PartyID
	Verdict Verdict
	Heir    *Party
}
