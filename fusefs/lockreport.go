package fusefs

import (
	"cmp"
	"slices"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// locksFor is the control file "locks".
func (d *desk) locksFor(uid uint32) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := report.Locks{Locks: []report.Lock{}}
	for list := range d.locked {
		for _, l := range list.Held() {
			r.Locks = d.addLockLocked(r.Locks, l, nil, uid)
		}
		for _, w := range list.Waiters() {
			r.Locks = d.addLockLocked(r.Locks, w.Lock, w, uid)
		}
	}
	slices.SortStableFunc(r.Locks, func(a, b report.Lock) int { return cmp.Compare(a.Path, b.Path) })
	r.Locks = append(r.Locks, d.reservationsLocked(uid)...)
	r.Locks = append(r.Locks, d.openingsLocked(uid)...)
	r.Locks = append(r.Locks, d.markLocksLocked(uid)...)
	slices.SortStableFunc(r.Locks, func(a, b report.Lock) int { return cmp.Compare(a.Path, b.Path) })
	return r
}

// addLockLocked adds a lock that a user may know of. w is its request, if it is waited for.
func (d *desk) addLockLocked(all []report.Lock, l protocol.Lock, w *protocol.Waiter, uid uint32) []report.Lock {
	p, h := d.ownerLocked(l), d.handles[l.Handle]
	if h == nil || !d.oversees(uid) && (p == nil || p.Process.UID != uid) {
		return all
	}
	path := d.pathLocked(h.node.bytes.item.Name)
	k := report.Lock{Path: path, Raw: raw(path), Inode: h.node.inode.Ino, Kind: l.Kind.String(), Mode: l.Mode.String(),
		Start: l.Start, End: l.End, PID: l.PID, Blocked: w != nil, Since: l.Since, Binds: h.node.bytes.item.Match.Class.BindsAll()}
	if p != nil {
		k.PID, k.Program = p.Process.PID, p.Program
	}
	if w != nil {
		k.BlockedBy = d.chainLocked(d.lockBlockerLocked(w, h.node), uid)
	}
	return append(all, k)
}

// ownerLocked is whom a lock is of: who asked for it, or, if that has ended, who opened the file.
func (d *desk) ownerLocked(l protocol.Lock) *protocol.Party {
	if holders := d.holdingLocked(l).Holders; len(holders) > 0 {
		return holders[0]
	}
	return d.Callers.Party(l.By)
}

// openingsLocked are the opens that wait.
func (d *desk) openingsLocked(uid uint32) []report.Lock {
	var all []report.Lock
	for o := range d.openings {
		if !d.oversees(uid) && o.by.Process.UID != uid {
			continue
		}
		path := d.pathLocked(o.node.bytes.item.Name)
		l := report.Lock{Path: path, Raw: raw(path), Inode: o.node.inode.Ino, Kind: "OPEN", Mode: protocol.ReadLock.String(), End: protocol.ToEOF,
			PID: o.by.Process.PID, Program: o.by.Program, Blocked: true, Since: o.since, BlockedBy: d.chainLocked(d.openingBlockerLocked(o), uid)}
		if o.write {
			l.Mode = protocol.WriteLock.String()
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b report.Lock) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.PID, b.PID)) })
	return all
}

// lockBlocker is who is in somebody's way, with what.
type lockBlocker struct {
	party *protocol.Party
	path  string
	since time.Time
}

func (d *desk) lockBlockerLocked(w *protocol.Waiter, n *node) *lockBlocker {
	k, blocked := n.bytes.locksOf().Blocker(w)
	p := d.ownerLocked(k)
	if !blocked || p == nil {
		return nil
	}
	return &lockBlocker{p, d.pathLocked(n.bytes.item.Name), k.Since}
}

func (d *desk) openingBlockerLocked(o *opening) *lockBlocker {
	if o.met.Line {
		return d.turnBlockerLocked(o.on)
	}
	p := d.Callers.Party(o.met.By)
	if p == nil {
		return nil
	}
	return &lockBlocker{p, d.pathLocked(o.on), o.met.Since}
}

// chainLocked is who is in the way, whom that one waits for, and so on: a circle ends where it comes back.
func (d *desk) chainLocked(b *lockBlocker, uid uint32) []report.Blocker {
	var chain []report.Blocker
	seen := map[protocol.PartyID]bool{}
	for ; b != nil && !seen[b.party.ID]; b = d.waitingForLocked(b.party) {
		seen[b.party.ID] = true
		known := report.Blocker{PID: b.party.Process.PID, Program: b.party.Program, Path: b.path, Since: b.since}
		if !d.oversees(uid) && b.party.Process.UID != uid {
			known.PID, known.Program = 0, "another user"
		}
		chain = append(chain, known)
	}
	return chain
}

// waitingForLocked is who is in the way of a party that waits itself, nil if it does not.
func (d *desk) waitingForLocked(p *protocol.Party) *lockBlocker {
	for w, wait := range d.waits {
		if w.By == p.ID {
			return d.lockBlockerLocked(w, wait.node)
		}
	}
	for o := range d.openings {
		if o.by.ID == p.ID {
			return d.openingBlockerLocked(o)
		}
	}
	return nil
}
