// Package report is what a mount tells about itself: the JSON that its control files hold and that the commands print.
// It is a stable interface.
package report

import "time"

// Status is the control file "status", and what `airlockfs status --json` prints.
type Status struct {
	Mount   string    `json:"mount"`
	Backing string    `json:"backing"`
	Since   time.Time `json:"since"`
	All     bool      `json:"all"` // Items are everybody's: root and the mount's owner see that; others see what is theirs
	Items   []Item    `json:"items"`

	Draining time.Time `json:"draining,omitzero"` // SIGTERM came and there is --drain: the mount ends then, or when nothing is under way any more

	Warnings   []string    `json:"warnings,omitempty"`   // about the mount as a whole; those about an item are with it
	Quarantine *Quarantine `json:"quarantine,omitempty"` // for root and the mount's owner, if there is something in it
}

// Quarantine is how much of what failed is kept.
type Quarantine struct {
	Items int   `json:"items"`
	Bytes int64 `json:"bytes"` // on the disk
	Most  int64 `json:"most"`  // --quarantine-max; 0: no bound
}

// Item is one version of a file that is not, or not only, public.
type Item struct {
	Item     uint64    `json:"item"` // the version's number, which events have too
	Path     string    `json:"path"`
	Raw      []byte    `json:"raw,omitempty"` // the path's bytes, if they are not UTF-8
	State    string    `json:"state"`         // staged parked held published claimed quarantined abandoned; outside: somebody outside the mount writes it; marked: a lock by its existence, which everybody sees; reserved: public, and somebody's turn
	Owner    *Owner    `json:"owner"`
	Since    time.Time `json:"since"`
	Size     int64     `json:"size"`
	Attempts int       `json:"attempts"`
	Reason   string    `json:"reason"` // why it is not public, in one sentence

	Class   string `json:"class,omitempty"`
	Barrier string `json:"barrier,omitempty"`
	Lifts   string `json:"lifts,omitempty"`  // what would make it public
	Bytes   string `json:"bytes,omitempty"`  // where they are, relative to the backing
	Opener  string `json:"opener,omitempty"` // a claim: who opened it first; the owner may be an heir
	Home    string `json:"home,omitempty"`   // a claim: the name it goes back to
	Writers int    `json:"writers,omitempty"`
	Readers int    `json:"readers,omitempty"`
	UID     uint32 `json:"uid"`

	Token   uint64    `json:"token,omitempty"`   // a claim: its number, as in its lease
	Used    time.Time `json:"used,omitzero"`     // a claim: when its owner last used it
	Until   time.Time `json:"until,omitzero"`    // when it ends by itself, if nothing happens before
	Warning string    `json:"warning,omitempty"` // what a person should look at, in one sentence
}

// Lease is a claim in the form that programs write into lease files: the attribute user.airlockfs.lease. Times are RFC 3339 in
// UTC; it has expired when now >= expiresAt. It is made when it is read, so it expires only for who does not look again.
type Lease struct {
	OwnerID     string    `json:"ownerId"` // HOST.BOOT.PID.START.UID.SESSION, as in docs/format.md; to other users "another user"
	Host        string    `json:"host"`
	PID         int       `json:"pid"` // as the mount sees it; 0: that can't be seen, or is another user's
	AcquiredAt  time.Time `json:"acquiredAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	HeartbeatAt time.Time `json:"heartbeatAt"`
	Token       uint64    `json:"token"` // larger than that of every claim before, on any file and of any mount
}

// Owner is the party that holds an item.
type Owner struct {
	PID     int    `json:"pid"`
	Start   uint64 `json:"start"`
	Program string `json:"program"`
	UID     uint32 `json:"uid"`
	Worker  string `json:"worker"`
}

// Locks is the control file "locks", and what `airlockfs locks --json` prints.
type Locks struct {
	Locks []Lock `json:"locks"`
}

// Lock is one lock that is held or waited for.
type Lock struct {
	Path    string    `json:"path"`
	Raw     []byte    `json:"raw,omitempty"` // the path's bytes, if they are not UTF-8
	Inode   uint64    `json:"inode"`
	Kind    string    `json:"kind"` // FLOCK POSIX OFDLCK; OPEN: an open(2) that waits; MARK: a lock by existence; RESERVE: a job's turn with a file of class serial
	Mode    string    `json:"mode"` // READ WRITE
	Start   uint64    `json:"start"`
	End     uint64    `json:"end"` // 9223372036854775807: to the end of the file
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Blocked bool      `json:"blocked"` // it is waited for
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"` // a turn: when it ends if its job makes no call

	Binds     bool      `json:"binds"`               // strangers, whether they lock or not
	BlockedBy []Blocker `json:"blockedBy,omitempty"` // whom it waits for, then whom that one waits for, and so on
}

// Blocker is who holds what is waited for, or waits before.
type Blocker struct {
	PID     int       `json:"pid"` // 0: another user's
	Program string    `json:"program"`
	Path    string    `json:"path"` // of the file that he has locked
	Since   time.Time `json:"since"`
}

// Mount is the control file "mount": which mount this is.
type Mount struct {
	Mount   string    `json:"mount"`
	Backing string    `json:"backing"`
	Since   time.Time `json:"since"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Lacks   []string  `json:"lacks"` // what the backing can't do

	Config string `json:"config,omitempty"` // the file of --config

	// What the flags of the same names said, and then the configuration.
	Rules        []string `json:"rules"`
	RulesFrom    []string `json:"rulesFrom"` // where each rule was given: FILE:LINE, or --rule
	Temp         []string `json:"temp"`
	NoTemp       []string `json:"noTemp"`
	IgnoreLitter bool     `json:"ignoreLitter"`
}

// Event is an entry of the control file "events": something that happened to an item.
type Event struct {
	Seq    uint64    `json:"seq"` // its number: 1 is the first of a mount
	Time   time.Time `json:"time"`
	Item   uint64    `json:"item"` // the version; it keeps its number when it is renamed
	Path   string    `json:"path"`
	Raw    []byte    `json:"raw,omitempty"` // the path's bytes, if they are not UTF-8
	What   string    `json:"what"`          // created hidden published claimed settled released … refused
	By     *Owner    `json:"by,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// News is the control file "events@N": what happened after event number N.
type News struct {
	Since   time.Time `json:"since"`   // of the mount: another mount counts anew
	Last    uint64    `json:"last"`    // ask next for what comes after this number
	Dropped uint64    `json:"dropped"` // so many events after N, of all users, are not remembered any more
	Events  []Event   `json:"events"`
}
