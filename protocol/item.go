package protocol

import "time"

// ItemID names one version of a file for the daemon's lifetime; ids are never reused. 0 is none.
type ItemID uint64

// FolderID names a folder of the mount for the daemon's lifetime.
type FolderID uint64

// NameKey is a name in a folder: what programs call a file.
type NameKey struct {
	Folder FolderID
	Name   string
}

// State says where an item stands. It is also where its bytes lie on the disk: each state but Public has an area of
// its own (docs/format.md), so one rename is one transition.
type State uint8

const (
	Gone        State = iota // removed, replaced or never finished; only open descriptors keep it
	Public                   // under its name in the backing, for everybody
	Staged                   // being written, or closed under a temp name: its owner's kin see it
	Parked                   // a closed temp file whose owner ended well without an heir
	Abandoned                // a temp file whose owner was killed
	Held                     // closed, but a barrier keeps it back
	Claimed                  // a reader has it
	Quarantined              // its writer failed; kept, explained, never under its name
)

var stateNames = [...]string{"gone", "published", "staged", "parked", "abandoned", "held", "claimed", "quarantined"}

func (s State) String() string { return stateNames[s] }

// Barrier is a reason why a closed item is not public yet (section 4 of docs/protocol.md).
type Barrier uint8

const (
	NoBarrier      Barrier = iota
	BarrierClose           // somebody has it open for writing
	BarrierTemp            // its name is a temp name
	BarrierExit            // publish=exit: its writer has not ended with 0
	BarrierQuiet           // publish=quiet: changed too recently
	BarrierRename          // publish=rename: no explicit rename or link
	BarrierOlder           // a newer item of the same name goes first
	BarrierForeign         // somebody outside has it open for writing
	BarrierLocked          // a stranger has locked the version that it will replace
)

var barrierNames = [...]string{"", "close", "temp", "exit", "quiet", "rename", "older", "foreign", "locked"}

func (b Barrier) String() string { return barrierNames[b] }

// ParseBarrier is the inverse of String; unknown names give NoBarrier.
func ParseBarrier(s string) Barrier {
	for i, n := range barrierNames {
		if n == s {
			return Barrier(i)
		}
	}
	return NoBarrier
}

// Item is one version of a file's bytes.
type Item struct {
	ID    ItemID
	Name  NameKey
	State State
	Match Match // what its name is; taken over when the name changes

	Former *Formers // who had a claim on it that was taken away

	// Claimed: who opened it first, which the owner may be an heir of; OpenerName for people.
	Opener     PartyID
	OpenerName string
	Owner      PartyID // who writes or claims it; 0: nobody (any more)
	UID        uint32  // the owner's user, kept when the owner is gone
	Since      time.Time
	Home       NameKey // Claimed: the name it goes back to
	Token      uint64  // of the claim on it, or of the last one: larger than that of every claim before (fencing token)

	Writers int  // open descriptors that may change it
	Begun   bool // made by an open that has not returned yet: if it never does, the item never was
	Changed bool // its bytes changed since it was last held
	Readers int  // Claimed: open descriptors of the claimant and its kin
	// Ending is the verdict on a claimant that ended while kin still had the item open (Living: it has not).
	Ending Verdict

	Base    ItemID // the version it was made from, or inside whose claim it is written
	Derived bool   // it reads as Base and has no bytes of its own yet: nothing was written
	InClaim bool   // it becomes Base's successor within the claim, not a public version
	Empty   bool   // no byte was ever written
	Ghost   bool   // created only to be locked: dropped at its last close if still empty

	Barrier  Barrier
	Until    time.Time // BarrierQuiet: when it lifts
	Taint    Taint     // why it may not become public
	Attempts int       // claims that ended badly
	// Uncounted: this claim's bad end is no failed attempt (sessions, callers under job control).
	Uncounted bool
	Links     int // names the inode has on the disk, where known
}

// Taint is why an item's bytes can't be trusted. The zero value is clean.
type Taint struct {
	Kind    TaintKind
	Verdict Verdict
	Detail  string // a sentence for people: who, how, after how many bytes
}

// TaintKind orders the reasons; a later one outweighs an earlier one.
type TaintKind uint8

const (
	NoTaint      TaintKind = iota
	TaintExit              // its writer ended with a failure while it had the item open
	TaintShort             // an announced length was not reached
	TaintSession           // a session server ended with the item open
	TaintKilled            // its writer was killed
	TaintWrite             // a write or a sync failed
	TaintBase              // the version it was made from is no longer current
)

var taintNames = [...]string{"", "failed", "short", "broken session", "killed", "write error", "stale base"}

func (t TaintKind) String() string { return taintNames[t] }

// Worse returns the weightier of two taints.
func (t Taint) Worse(u Taint) Taint {
	if u.Kind > t.Kind {
		return u
	}
	return t
}

// Private tells whether only some callers may know of the item.
func (i *Item) Private() bool { return i.State != Public && i.State != Gone }

// Temp tells whether the item's name is a temp name.
func (i *Item) Temp() bool { return i.Match.Temp == TempByName }

// Closed tells whether nobody has the item open for writing.
func (i *Item) Closed() bool { return i.Writers == 0 }
