package protocol

import "time"

// Op is what happened.
type Op uint8

const (
	OpOpen     Op = iota // open an item that the caller looked up
	OpCreate             // create, or open with O_CREAT, a name the caller does not see
	OpClosed             // the last writing descriptor of an item is gone
	OpUnlink             // unlink(2)
	OpRename             // rename(2) of a file
	OpLink               // link(2)
	OpEnded              // an item's owner ended
	OpReleased           // the last descriptor on a claim whose owner ended, or the linger, gave it back
	OpLifted             // a barrier's event came (time, writer's exit, foreign writer gone)
	OpExpired            // nobody came back for a parked or abandoned item
	OpTake               // a folder or a link is about to be made under the name
	OpLock               // a lock is asked for on an item
	OpPayload            // the first bytes that are no pid go to a file that was made to be locked
	OpApproach           // an open of a name is about to begin
	OpWrite              // the first write to a version is about to begin, or one to a file in place
	OpLeave              // a folder, link or special file is about to lose its name
	OpChange             // a file that is written in place is about to change
	OpMarkOver           // a file was a mark whose holder ended badly

	// An operator's orders about an item (order.go).
	OpOrderRelease // end the claim on it
	OpOrderRequeue // deliver what failed again
	OpOrderDiscard // remove it for good
	OpOrderPublish // show it now
)

// Event is one thing that happened, with the facts needed to decide about it. At is its time; the protocol reads no
// clock.
type Event struct {
	Op   Op
	At   time.Time
	By   *Party
	Job  Job    // whose bases count (section 9): the caller's, or its writer's of an item that the event is about
	Item ItemID // OpOpen, OpClosed, OpEnded, OpReleased, OpLifted, OpLink, orders

	// Observer: the caller never claims, by rule or because it may not remove the name. SeesClaimed: it sees what others
	// have claimed, too; not so an observer by its program's name, which anybody can take.
	Observer, SeesClaimed bool

	Uncounted bool   // a claim made now counts no attempt
	Token     uint64 // of a claim made now: larger than all that were given before
	Idle      bool   // the mount is about to end, and the caller holds nothing that it could finish

	Circle  bool          // who has the turn waits, in the end, for the caller: nobody waits for it any more
	Reserve time.Duration // how long a turn lasts without a call; 0: for ever

	Open      OpenMode
	NoReplace bool   // OpRename, OpLink: EEXIST if the target is taken
	Exchange  bool   // OpRename
	Handle    uint64 // the descriptor that the call came by: what is locked by it is no stranger's
	Make      ItemID
	Verdict   Verdict
	NotClean  bool // a writer whose end nobody knows counts as one that failed
	Heir      *Party
	Writer    *Party // OpEnded: another process that wrote the item, and lives
	Lingered  bool   // OpReleased: nobody used the claim, but its owner lives
	Unopened  bool   // OpClosed: neither a FLUSH nor a WRITE ever came on the descriptor

	// Of an order. Oversees: By is root, or owns the mount. Powerless: he does not, and has no right to put a file in the
	// place that the order is about.
	Oversees, Powerless bool
	Force               bool // OpOrderDiscard: whatever its state
}

// OpenMode are the flags of open(2) that matter here.
type OpenMode struct {
	Read, Write, Append, Truncate, Exclusive bool
	NonBlock                                 bool // it does not wait
	Resize                                   bool // for truncate(2) by path
	Mode                                     uint32
}

// Creation is the same as the name tables see it.
func (m OpenMode) Creation() Creation {
	return Creation{ReadOnly: !m.Write, ReadWrite: m.Read && m.Write, Append: m.Append, Exclusive: m.Exclusive, Truncate: m.Truncate, Mode: m.Mode}
}
