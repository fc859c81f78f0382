package protocol

import (
	"math"
	"time"
)

// ToEOF is the End of a lock that reaches to the end of the file, however long the file grows. It is the largest file
// offset (OFFSET_MAX), which the kernel sends for l_len 0 and for every flock(2).
const ToEOF uint64 = math.MaxInt64

// LockKind is the call a lock was asked for with.
//
// The kernel marks a flock(2) request, but it sends F_SETLK and F_OFD_SETLK alike. The owner id tells them apart, once
// it was seen elsewhere: an open file's flock requests and its RELEASE carry the id of its OFD locks, a FLUSH carries
// the id of the process's POSIX locks. Kind matters only for display and EDEADLK, so Posix is a safe guess: a wrong one
// answers EDEADLK to a cycle of OFD locks, in which Linux waits for ever. So who carries out a request that is to wait
// asks what it is.
type LockKind uint8

const (
	Flock LockKind = iota // flock(2): the whole file, owned by the open file description
	Posix                 // F_SETLK, F_SETLKW: owned by the process, strictly by its table of descriptors
	OFD                   // F_OFD_SETLK, F_OFD_SETLKW: owned by the open file description
)

// The names are those of lslocks(8).
var (
	lockKindNames = [...]string{"FLOCK", "POSIX", "OFDLCK"}
	lockModeNames = [...]string{"READ", "WRITE"}
)

func (k LockKind) String() string { return nameOf(lockKindNames[:], uint8(k)) }

// LockMode is what a lock lets others do.
type LockMode uint8

const (
	ReadLock  LockMode = iota // F_RDLCK, LOCK_SH: shared with other read locks
	WriteLock                 // F_WRLCK, LOCK_EX: shared with nobody
)

func (m LockMode) String() string { return nameOf(lockModeNames[:], uint8(m)) }

// Lock is an advisory lock, held or asked for. It is a value: copying it locks nothing.
type Lock struct {
	Kind   LockKind
	Mode   LockMode
	Owner  uint64 // the kernel's lock_owner: the POSIX id of a process, or the id of an open file
	Handle uint64 // the open file (fh) it was asked for through
	// Start and End are the first and the last locked byte, Start ≤ End ≤ ToEOF. A flock always has 0 and ToEOF.
	Start, End uint64
	By         PartyID
	PID        int       // the process, for F_GETLK and listings
	Since      time.Time // when it was asked for
	// Ahead exempts a request from waiting its turn behind earlier waiters. Set it if a holder waits for the asker: it
	// is the holder's child, say, or blocks it on another file. Standing in line would then be a deadlock that Linux
	// does not have.
	Ahead bool
}

// Conflict tells whether two locks of a kind can't be held at the same time. It is the whole conflict matrix: their ranges
// overlap, at least one excludes others, their owners differ, and they see each other. As flock(2) says for local
// filesystems, flock locks and fcntl locks don't.
func Conflict(a, b Lock) bool { return exclude(a, b) && (a.Kind == Flock) == (b.Kind == Flock) }

func exclude(a, b Lock) bool {
	return (a.Mode == WriteLock || b.Mode == WriteLock) && a.Owner != b.Owner && a.Start <= b.End && b.Start <= a.End
}

// conflict is Conflict, and where strangers' locks of all kinds see each other, the same for those.
func (l *Locks) conflict(a, b Lock) bool {
	l.held.looked++
	return Conflict(a, b) || l.Strangers != nil && exclude(a, b) && l.Strangers(a, b)
}

// replaces tells whether a lock takes the place of h where they overlap: one owner has one mode on a byte, once for
// flock and once for fcntl.
func (k Lock) replaces(h Lock) bool {
	return k.Owner == h.Owner && (k.Kind == Flock) == (h.Kind == Flock)
}

// touches tells whether two ranges overlap or are neighbours.
func (k Lock) touches(h Lock) bool { return k.Start <= h.End+1 && h.Start <= k.End+1 }
