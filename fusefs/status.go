package fusefs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// statusFor is the control file "status" for a user: everything for root and the mount's owner, their own for others.
func (d *desk) statusFor(uid uint32) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := report.Status{Mount: d.facts.Mount, Backing: d.facts.Backing, Since: d.facts.Since, All: d.oversees(uid), Items: []report.Item{}}
	d.settleAllLocked()
	for _, n := range d.table.byID {
		if n.hidden() && (d.oversees(uid) || n.bytes.item.UID == uid) {
			s.Items = append(s.Items, d.itemLocked(n))
		}
	}
	s.Items = append(s.Items, d.outsidersLocked(uid)...)
	s.Items = append(s.Items, d.markItemsLocked(uid)...)
	s.Items = append(s.Items, d.reservedLocked(uid)...)
	s.Warnings = d.diskWarnings()
	s.Warnings = append(s.Warnings, d.fullWarningsLocked(uid)...)
	if d.oversees(uid) && len(d.quarantine.bytes) > 0 {
		s.Quarantine, s.Warnings = d.quarantineLocked(), append(s.Warnings, d.quarantineWarningLocked()...)
	}
	if d.drain != nil {
		s.Draining = d.drain.until
		s.Warnings = append(s.Warnings, "the mount is ending: what is under way may finish until "+d.drain.until.Format(time.TimeOnly)+", nothing new begins")
	}
	if d.oversees(uid) {
		s.Warnings = append(s.Warnings, d.warnings...)
	}
	slices.SortFunc(s.Items, func(a, b report.Item) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Item, b.Item)) })
	return s
}

// settleAllLocked settles what the dead left, and finds what was taken out of the control folder. That changes items, and
// gives some a node anew, so it comes before they are listed.
func (d *desk) settleAllLocked() {
	for _, n := range slices.Collect(maps.Values(d.table.byID)) {
		if n.hidden() {
			d.settleDeadLocked(d.knownLocked(d.table.byID[uint64(n.bytes.item.Name.Folder)], n.bytes.item.Name.Name))
		}
		if n.hidden() {
			d.forgetTakenLocked(n)
		}
	}
}

// hidden: not everybody sees the item, which is one of its own.
func (n *node) hidden() bool {
	return n.kind == itemNode && n.bytes.item.Private() && !n.bytes.item.Derived
}

// raw are the bytes of a path that JSON can't hold.
func raw(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// forgetTakenLocked: somebody has removed a private file from the control folder by hand. One in quarantine he may take
// out; any other is lost.
func (d *desk) forgetTakenLocked(n *node) {
	if !d.missingLocked(n) {
		return
	}
	if n.bytes.item.State != protocol.Quarantined {
		d.lostLocked(n)
		return
	}
	gone := n.bytes.item
	gone.State = protocol.Gone
	c := d.call(protocol.OpExpired, nil)
	c.why = "removed by hand in the backing"
	d.finishLocked(n, c, gone)
	d.tidyLocked(n)
}

func (d *desk) itemLocked(n *node) report.Item {
	i := &n.bytes.item
	r := report.Item{Item: n.id, Path: d.pathLocked(i.Name), State: i.State.String(), Since: i.Since, Attempts: i.Attempts, UID: i.UID,
		Class: i.Match.Class.String(), Writers: i.Writers, Readers: i.Readers, Owner: owner(d.Callers.Party(i.Owner))}
	if i.State == protocol.Claimed {
		r.Opener = i.OpenerName
	}
	r.Raw = raw(r.Path)
	if st, err := d.statLocked(n); err == nil {
		r.Size = st.Size
	}
	if n.bytes.at != (backing.Object{}) {
		r.Bytes = n.bytes.at.Folder + "/" + n.bytes.at.Name
	}
	if i.State == protocol.Claimed && i.Home != i.Name {
		r.Home = d.pathLocked(i.Home)
	}
	r.Barrier, r.Reason, r.Lifts = d.explainLocked(n)
	if i.State == protocol.Claimed {
		r.Used, r.Token = d.lastUseLocked(i), i.Token
	}
	r.Until, r.Warning = d.endsLocked(n), d.warningLocked(n)
	return r
}

// explainLocked says why an item is not public, and what would change that.
func (d *desk) explainLocked(n *node) (barrier, reason, lifts string) {
	i := &n.bytes.item
	if u := n.bytes.unsettled; u != nil {
		return d.explainUnsettledLocked(n, u)
	}
	who := called(d.Callers.Party(i.Owner))
	switch i.State {
	case protocol.Staged:
		return explainStaged(i, who, n.bytes.written)
	case protocol.Claimed:
		return "", claimedBy(i, who), "it is settled when " + who + " removes or moves it, and comes back when " + who + " ends" + d.lingers(n) + ", or by airlockfs release"
	case protocol.Held:
		return explainHeld(i, who)
	case protocol.Parked:
		return "temp", "its writer ended without renaming it, and has no heir", "the same user renames it or opens it for writing, or airlockfs publish --as NAME"
	case protocol.Abandoned:
		return "temp", "it was never renamed: " + i.Taint.Detail, resume(i)
	case protocol.Quarantined:
		return "close", i.Taint.Detail, "nothing by itself: look at the bytes, then airlockfs requeue or discard"
	}
	return "", "", ""
}

// explainUnsettledLocked says why the disk did not do what was decided: often its folder is not there any more.
func (d *desk) explainUnsettledLocked(n *node, u *unsettled) (barrier, reason, lifts string) {
	if errors.Is(u.err, syscall.ENOENT) && d.folderGoneLocked(n) {
		return "", "its folder was removed from the backing", "make the folder again, then it comes back; else the next mount puts it into quarantine"
	}
	if errors.Is(u.err, errAgain) {
		return "foreign", "somebody outside the mount has a file of its name open for writing", "that file is closed"
	}
	return "", "the backing refused to settle it: " + cause(u.err), "it is tried again, at the latest every " + longestRetry.String()
}

// folderGoneLocked: the disk has no folder where an item belongs.
func (d *desk) folderGoneLocked(n *node) bool {
	parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]
	if parent == nil || parent.kind != folderNode {
		return true
	}
	_, err := d.Store.Stat(parent.object())
	return errors.Is(err, syscall.ENOENT)
}

// claimedBy: who has a claim may be the heir of who read the file.
func claimedBy(i *protocol.Item, who string) string {
	if i.Opener == i.Owner || i.OpenerName == "" {
		return who + " has claimed it"
	}
	return who + " keeps it for " + i.OpenerName + ", which opened it and has ended"
}

// lingers says after what time a claim that nobody uses comes back by itself. One that is open is in use.
func (d *desk) lingers(n *node) string {
	i := &n.bytes.item
	linger := d.lingerOf(d.Callers.Party(i.Owner))
	switch {
	case linger == 0:
		return ""
	case i.Readers > 0 || d.writtenWithinLocked(n):
		return ", not as long as it has it open"
	}
	return fmt.Sprintf(", or does not use it for %s (--linger)", span(linger))
}

func resume(i *protocol.Item) string {
	if i.Match.Resumable {
		return "the same user opens it again without O_TRUNC, or airlockfs requeue --as NAME"
	}
	return "nothing by itself: the name is free; airlockfs requeue --as NAME delivers it all the same"
}

func explainStaged(i *protocol.Item, who string, written int64) (barrier, reason, lifts string) {
	switch {
	case i.Writers > 0:
		return "close", fmt.Sprintf("%s has it open for writing, %s bytes so far", who, commas(written)), "the last clean close"
	case i.Temp():
		return "temp", "its name is a temp name, and belongs to " + who, "a rename or link to another name"
	}
	return i.Barrier.String(), "it is being made by " + who, "the last clean close"
}

func explainHeld(i *protocol.Item, who string) (barrier, reason, lifts string) {
	b := i.Barrier.String()
	switch i.Barrier {
	case protocol.BarrierExit:
		return b, "publish=exit: " + who + " has not ended", who + " ends with 0, or airlockfs publish"
	case protocol.BarrierQuiet:
		return b, "publish=quiet: it changed a moment ago", "no change until " + i.Until.Format("15:04:05.000") + ", or airlockfs publish"
	case protocol.BarrierRename:
		return b, "publish=rename: it was not renamed", "a rename or link to another name, or airlockfs publish"
	case protocol.BarrierOlder:
		return b, "a newer item of the same name goes first", "the newer one is claimed or settled, or airlockfs publish"
	case protocol.BarrierLocked:
		return b, "somebody else has locked the version that it will replace", "that lock is let go, or airlockfs publish"
	case protocol.BarrierForeign:
		return b, "it was moved here while somebody had it open for writing", "that descriptor is closed"
	}
	return b, "", ""
}

// factsFor is the control file "mount".
func (d *desk) factsFor(uint32) any { return d.facts }
