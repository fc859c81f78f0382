package protocol

import "time"

// Decision is the answer to an event: a refusal, or what the caller gets and what changes.
type Decision struct {
	Refuse *Refusal
	Item   ItemID // the item the call means
	Access Access // OpOpen, OpCreate
	// Effects are carried out in order, first on the disk, then with Apply. A crash between two of them leaves what
	// Recover brings to an end that the rules allow: an item that waits behind a newer one which is not there is public,
	// an unfinished one that was written over is not published.
	Effects []Effect
	// Then are carried out after what the call itself does on the disk (OpLink).
	Then    []Effect
	Rebases []Rebase // once the effects are true
	Turns   []Retake // then, too
}

// Access is what an open may do.
type Access uint8

const (
	AccessNone     Access = iota
	AccessClaim           // reads; its descriptor keeps the claim
	AccessView            // reads what it opened, and holds nothing
	AccessWrite           // its own unfinished bytes
	AccessInPlace         // the file itself, as on any filesystem
	AccessRedirect        // the name now means another item for this caller: look it up again
	AccessLock            // may only be locked
)

// EffectKind tells the disk's part of an effect.
type EffectKind uint8

const (
	Make    EffectKind = iota // a new item; no bytes yet where Derived
	Move                      // another state, name or owner
	Remove                    // the name At goes and was its last; open descriptors keep the bytes
	Unname                    // the name At goes; it has others
	Unalias                   // the name At, left behind by link(2), no longer means it; nothing on the disk
)

// Effect is one change: the item becomes Next.
type Effect struct {
	Kind EffectKind
	Next Item
	// Over is the item that Next replaces under its name: it becomes Gone in the same step. 0: the name must be free.
	Over ItemID
	// Swap is the item that takes Next's old name in the same step (RENAME_EXCHANGE).
	Swap ItemID
	// Alias: the old name goes on meaning the item, for the kin of this party (link(2)).
	Alias PartyID
	At    NameKey
}

// Reason is why a call is refused. It is a value; which errno it becomes is decided in one table of package fusefs.
type Reason uint8

const (
	NotFound     Reason = iota + 1 // there is no such name for this caller
	NotYours                       // somebody else has claimed it
	Busy                           // somebody holds it
	Exists                         // the name is taken
	Stale                          // the item is no longer what the name means: look again
	Fenced                         // the claim behind this descriptor is over
	WriteFailed                    // an earlier write on it failed, or its writer did
	BaseGone                       // made from a version that is no longer current
	Outdated                       // the caller's job has read another version than the current one, or found none
	OtherKind                      // no link between these two classes
	Reserved                       // the name or attribute belongs to airlockfs
	HiddenBelow                    // the folder holds items the caller may not see
	Invalid                        // the call makes no sense here
	NoRoom                         // no descriptor is left for one more open file
	NotPermitted                   // the operator may not do that to this name
	Ending                         // the mount is about to end: nothing new begins
	WouldWait                      // it would have to wait, and was not to
)

var reasonNames = [...]string{"", "not found", "claimed by somebody else", "busy", "name taken", "changed meanwhile", "claim is over",
	"write failed", "base replaced", "changed since it was read", "other class", "reserved", "hidden items below", "invalid",
	"too many open files", "not permitted", "the mount is ending", "would have to wait"}

func (r Reason) String() string { return reasonNames[r] }

// Refusal says why, and whom the call met.
type Refusal struct {
	Reason  Reason
	Kind    string // "claim", "writer", "barrier exit", "lock", …
	Item    ItemID
	By      PartyID
	Since   time.Time
	WhatNow string // what the refused may do
	// On: an open may wait, until somebody lets go of something of this name, and then be tried again.
	On   NameKey
	Line bool  // in line, and for as long as it takes: it has its turn
	Came *Came // BaseGone, Outdated: the version that came between, if that is known
}

func refuse(r Reason) Decision { return Decision{Refuse: &Refusal{Reason: r}} }

// met refuses because of an item somebody else holds.
func met(r Reason, i *Item, whatNow string) Decision {
	kind := "file"
	switch {
	case i.State == Staged:
		kind = "unfinished file"
	case i.State == Claimed:
		kind = "claim"
	case i.State == Held:
		kind = "barrier " + i.Barrier.String()
	}
	return Decision{Refuse: &Refusal{Reason: r, Kind: kind, Item: i.ID, By: i.Owner, Since: i.Since, WhatNow: whatNow}}
}

func grant(i *Item, a Access, effects ...Effect) Decision {
	return Decision{Item: i.ID, Access: a, Effects: effects}
}

func effects(e ...Effect) Decision { return Decision{Effects: e} }

// Decide applies the rules to one event. It changes nothing: the caller carries the effects out.
func Decide(w *World, e *Event) Decision {
	d := foreign(w, e)
	if d.Refuse == nil {
		d = guarded(w, e)
	}
	if d.Refuse == nil {
		d = rules[e.Op](w, e)
	}
	if e.Idle && begins(e, d.Effects) {
		d = refuse(Ending)
	}
	if d.Refuse == nil {
		d.Effects = append(d.Effects, liftOlder(w, e, d.Effects)...)
		passFormers(w, e, d.Effects)
		d.Rebases = rebase(w, e, d.Effects)
		d.Turns = append(d.Turns, turnsOver(w, e, d.Effects)...)
	}
	return d
}

// begins: the caller gets a claim or an unfinished file, which it would have to bring to an end.
func begins(e *Event, done []Effect) bool {
	switch e.Op {
	case OpOpen, OpCreate, OpRename, OpLink:
	default:
		return false
	}
	for _, x := range done {
		if x.Next.Owner == e.By.ID && (x.Next.State == Staged || x.Next.State == Claimed) {
			return true
		}
	}
	return false
}

var rules = [...]func(*World, *Event) Decision{
	OpOpen: open, OpCreate: create, OpApproach: approach, OpWrite: write, OpClosed: closed, OpUnlink: unlink, OpRename: rename, OpLink: link,
	OpEnded: ended, OpReleased: released, OpLifted: lifted, OpExpired: expired, OpTake: take,
	OpLock: lock, OpPayload: payload, OpLeave: allowed, OpChange: allowed, OpMarkOver: markOver,
	OpOrderRelease: orderRelease, OpOrderRequeue: orderRequeue, OpOrderDiscard: orderDiscard, OpOrderPublish: orderPublish,
}

// liftOlder publishes the oldest item that waits behind a newer one, if after the effects just decided that one is gone.
func liftOlder(w *World, e *Event, done []Effect) []Effect {
	for _, f := range []*File{w.File, w.Target} {
		if f == nil || f.Foreign != nil || f.Public != nil && !leaves(f.Public, f.Name, done) || takes(f.Name, done) {
			continue
		}
		for _, i := range f.Private {
			if i.State == Held && i.Barrier == BarrierOlder && !touched(i, done) {
				return []Effect{public(i, f.Name, i.Match, e.At)}
			}
		}
	}
	return nil
}

// leaves: after the effects the item is no longer public under the name, though nothing was written over it.
func leaves(i *Item, n NameKey, done []Effect) bool {
	for _, x := range done {
		switch {
		case x.Kind == Unname && x.Next.ID == i.ID && x.At == n:
			return true
		case x.Kind != Unname && x.Next.ID == i.ID && (x.Next.State != Public || x.Next.Name != n):
			return true
		}
	}
	return false
}

// takes: the effects make another item public under the name.
func takes(n NameKey, done []Effect) bool {
	for _, x := range done {
		if x.Next.State == Public && x.Next.Name == n || x.Swap != 0 {
			return true
		}
	}
	return false
}

func touched(i *Item, done []Effect) bool {
	for _, x := range done {
		if x.Next.ID == i.ID {
			return true
		}
	}
	return false
}

// public is the effect that shows an item under a name.
func public(i *Item, n NameKey, m Match, at time.Time) Effect {
	next := *i
	next.Name, next.Match, next.State, next.Since = n, m, Public, at
	next.Owner, next.Home, next.Barrier, next.InClaim, next.Ending = 0, NameKey{}, NoBarrier, false, Verdict{}
	next.Base, next.Derived, next.Readers, next.Taint, next.Ghost = 0, false, 0, Taint{}, false
	return Effect{Kind: Move, Next: next}
}
