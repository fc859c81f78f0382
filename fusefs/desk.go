package fusefs

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// SyncMode says what is made durable before a publication counts.
type SyncMode uint8

const (
	SyncPublish SyncMode = iota // the bytes, before the rename that shows them
	SyncFull                    // the bytes, and the folder after the rename
	SyncNone
)

// Config is what a mount is made of. All fields but the durations and switches are required.
type Config struct {
	Store   *backing.Store
	Callers *caller.Table
	Rules   *protocol.Rules
	Log     *slog.Logger
	Now     func() time.Time

	Observers    []Observer
	Sync         SyncMode
	Reserve      time.Duration // after which nobody waits for who has read a serial file and makes no call; 0: never
	Wait         time.Duration // that an open waits for who has locked the file, at most
	RootBound    bool          // --root-override=false: locks of users bind root, too
	Linger       time.Duration // 0: a claim never ends by lack of use
	KeepReplaced time.Duration // 0: a replaced version is not kept
	Abandoned    time.Duration // after which parked and abandoned items go to quarantine
	Quarantine   protocol.Bounds
	ClaimedBusy  bool   // --when-claimed=busy: a claimed name stays visible, its open says EBUSY
	UnknownFails bool   // --unknown-exit=quarantine
	Descriptors  int    // most that programs may keep of ours; 0: any number
	Owner        uint32 // the mount's owner: sees everything, as root does
}

// desk decides, makes durable, installs, and tells. See the package comment for its lock.
type desk struct {
	// What it was made with: does not change.
	Config
	knowsPrograms bool // some observers are known by their program file
	facts         report.Mount
	host          string              // this machine's name
	readOnly      bool                // nobody can settle anything, so nobody claims
	handOn        func(unique uint64) // the request of this id is about to take its time
	stale         func(node uint64)   // drop the kernel's cached bytes of a node

	mu sync.Mutex // GUARDS all that follows, but for what has a lock of its own: trouble, copies, controls, requests, syncs

	// Inodes, and where they are on the disk.
	table     table
	keys      map[string]*node // folders by key; after an earlier mount one may have two
	lastKey   uint64           // last folder key given out
	tokens    tokens
	slots     slots
	lifting   bool // an item that waited behind one that an outsider has removed is being published
	chores    chores
	ruins     ruins
	used      []*node                       // that were used last
	ghosts    map[protocol.NameKey]struct{} // files made to be locked: in no listing
	replaced  []retained
	outsiders map[protocol.NameKey]time.Time // since when they are known to be written from outside

	// Who has what.
	handles  map[uint64]*handle
	lastFH   uint64
	owned    map[protocol.PartyID]*estate
	settling map[protocol.PartyID]struct{} // parties whose end is being settled
	formers  map[protocol.PartyID]struct{} // parties that live and may be on an item's list of former claimants
	waits    map[*protocol.Waiter]*lockWait
	locked   map[*lockList]struct{} // that have locks which are held or waited for
	openings map[*opening]struct{}  // opens that wait
	queued   uint64                 // the last number that one of them got
	turns    turns                  // whose turn it is with serial files
	shares   map[uint32]share       // by user
	shared   share                  // their sum

	// What a call leaves for a later one.
	asked     map[uint32]asked        // by thread
	redirects map[uint32]*redirect    // by thread
	syncing   *[]*folderSync          // asked for by who holds the lock and will wait; nil: he will not
	ending    map[chan struct{}]*node // ends that are under way, and take their time: of descriptors on the node, of claims (nil)
	published publications
	bases     bases
	marks     marks
	timers    map[*node]*time.Timer
	stopped   bool   // no timer is to be set any more
	drain     *drain // nil: the mount goes on

	// What is kept and told for people.
	events     eventLog
	quarantine quarantine
	warnings   []string            // about the mount
	warned     map[string]struct{} // servers whose closes can't be told apart, as was said

	syncs    *folderSyncs
	trouble  trouble
	copies   *copies
	controls controls
	requests counter
}

func newDesk(c Config) *desk {
	d := &desk{Config: c, handOn: func(uint64) {}, stale: func(uint64) {},
		table: newTable(), slots: newSlots(c.Store), ghosts: map[protocol.NameKey]struct{}{},
		outsiders: map[protocol.NameKey]time.Time{},
		handles:   map[uint64]*handle{}, owned: map[protocol.PartyID]*estate{}, settling: map[protocol.PartyID]struct{}{}, formers: map[protocol.PartyID]struct{}{},
		waits: map[*protocol.Waiter]*lockWait{}, locked: map[*lockList]struct{}{}, openings: map[*opening]struct{}{}, turns: newTurns(), shares: map[uint32]share{},
		asked: map[uint32]asked{}, redirects: map[uint32]*redirect{}, ending: map[chan struct{}]*node{}, timers: map[*node]*time.Timer{},
		warned: map[string]struct{}{}, copies: newCopies(), marks: marks{of: map[uint32]int{}, late: map[*node]func() error{}}, requests: counter{counts: map[string]uint64{}}}
	d.syncs = &folderSyncs{last: map[backing.ID]*folderSync{}, ended: d.syncEnded}
	for _, o := range c.Observers {
		d.knowsPrograms = d.knowsPrograms || o.By == protocol.ObserverByExe
	}
	root := d.table.add(&node{id: rootID, kind: folderNode, folder: newFolder(rootKey)})
	d.keys = map[string]*node{rootKey: root}
	return d
}

func newFolder(key string) *folder {
	return &folder{key: key, files: map[string]*protocol.File{}, settled: map[uint64]int64{}, lent: map[string]map[*node]struct{}{}}
}

// call is an event with what only the disk needs to know: how a file is to be created.
type call struct {
	protocol.Event
	what, why      string // what the event about it is called and says, if it is nobody's doing
	mode, uid, gid uint32
	queues         bool           // an open that can wait for its turn
	took           *protocol.File // a serial file of which the open got the turn
	patient        bool           // an open that can still wait for what it meets
	before         error          // what the same open was refused when its name was looked up again
	like           *node          // whose rights and attributes it takes over, if it is a version of that
}

// call is something a party does, now.
func (d *desk) call(op protocol.Op, p *protocol.Party) *call {
	c := &call{Event: protocol.Event{Op: op, At: d.Now(), By: p, NotClean: d.UnknownFails}}
	if p != nil {
		role := d.role(p)
		c.Observer = role == protocol.RoleObserver || d.readOnly
		c.SeesClaimed = c.Observer && d.seesClaimed(p)
		c.Uncounted = p.JobControl || protocol.ServesSessions(p.Program)
		c.uid, c.gid = p.Process.UID, p.GID
	}
	return c
}

// role is what the caller is by rule, then by the built-in table.
func (d *desk) role(p *protocol.Party) protocol.Role {
	for n := range d.Observers {
		if d.Observers[n].Is(p, d.Callers) {
			return protocol.RoleObserver
		}
	}
	return protocol.BuiltinRole(p.Program)
}

func (d *desk) seesClaimed(p *protocol.Party) bool {
	for n := range d.Observers {
		if o := &d.Observers[n]; o.SeesClaimed() && o.Is(p, d.Callers) {
			return true
		}
	}
	return false
}

// oversees tells whether the caller may know everything: root and the mount's owner.
func (d *desk) oversees(uid uint32) bool { return uid == 0 || uid == d.Owner }

// errAgain: the disk was not as the decision supposed (somebody else changed the backing). Look and decide again.
var errAgain = errors.New("the backing changed meanwhile")

// decideLocked runs one event to its end: Decide, then each effect on the disk and in memory. load builds the world anew
// for each try.
func (d *desk) decideLocked(c *call, load func() (*protocol.World, error)) (protocol.Decision, error) {
	c.Idle = d.idleLocked(c.By)
	for try := 0; ; try++ {
		w, err := load()
		if err != nil {
			return protocol.Decision{}, err
		}
		if err = d.askForeignLocked(w, &c.Event); err != nil {
			return protocol.Decision{}, err
		}
		c.Token = d.nextTokenLocked()
		d.forJobLocked(c, w)
		dec := protocol.Decide(w, &c.Event)
		if dec.Refuse != nil {
			d.tellOutsiderLocked(dec.Refuse, w)
			d.asShownLocked(dec.Refuse, w)
			if !c.waits(dec.Refuse) && !c.knows(dec.Refuse) {
				d.sayRefusedLocked(c, dec.Refuse, w)
			}
			return dec, refused{dec.Refuse}
		}
		err = d.performLocked(dec.Effects, c)
		if errors.Is(err, errAgain) && try < 8 {
			continue
		}
		if err == nil {
			d.rebaseLocked(c, dec.Rebases)
			d.retakeLocked(dec.Turns)
			d.turnUsedLocked(c, w)
		}
		return dec, err
	}
}

// asShownLocked: where a claimed name is shown, a call on it can't be told that there is none.
func (d *desk) asShownLocked(r *protocol.Refusal, w *protocol.World) {
	if !d.ClaimedBusy || r.Reason != protocol.NotYours && r.Reason != protocol.NotFound {
		return
	}
	for _, i := range w.File.Private {
		if i.State == protocol.Claimed {
			*r = protocol.Refusal{Reason: protocol.Busy, Kind: "claim", Item: i.ID, By: i.Owner, Since: i.Since,
				WhatNow: "wait until it is settled or given back"}
		}
	}
}

// performLocked carries effects out in order. The first failure ends it: what was done before is true and stays.
func (d *desk) performLocked(effects []protocol.Effect, c *call) error {
	defer d.drainedLocked()
	for n := range effects {
		if err := d.carryOutLocked(&effects[n], c); err != nil {
			return err
		}
	}
	return nil
}

// aboutItemLocked decides about an item by itself: closed, ended, released, lifted.
func (d *desk) aboutItemLocked(n *node, c *call) error {
	c.Item, c.Job = protocol.ItemID(n.id), n.bytes.job
	_, err := d.decideLocked(c, func() (*protocol.World, error) {
		if n.bytes.lost {
			return nil, errLost
		}
		if err := d.settleWithinLocked(n); err != nil {
			return nil, err
		}
		return d.worldAboutLocked(n)
	})
	d.tidyLocked(n)
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// worldAboutLocked is the world of an event about an item: its name, and the one that it, or the claim it is written in,
// would go back to.
func (d *desk) worldAboutLocked(n *node) (*protocol.World, error) {
	i := &n.bytes.item
	f, err := d.fileOfLocked(i)
	if err != nil {
		return nil, err
	}
	claim := i
	if base := d.table.byID[uint64(i.Base)]; i.InClaim && base != nil {
		claim = &base.bytes.item
	}
	if claim.State != protocol.Claimed || claim.Home == i.Name {
		return d.world(f, nil), nil
	}
	home, err := d.fileLocked(claim.Home)
	return d.world(f, home), err
}

// tidyLocked forgets a node that nobody needs any more.
func (d *desk) tidyLocked(n *node) {
	if n.idle() {
		n.leavesLocked()
		d.table.drop(n)
	} else {
		d.usedLastLocked(n)
	}
}
