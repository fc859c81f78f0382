package protocol

import (
	"slices"
	"time"
)

// visible is the item that a name means for a party.
func (s *sim) visible(p *Party, n NameKey) *Item {
	e := s.event(OpOpen, p)
	return Visible(s.world(n, nil), s.look(n), e)
}

// open is open(2): the kernel looks the name up, creates it or opens it, and looks once more if it is told to.
func (s *sim) open(p *Party, n NameKey, m OpenMode, create bool) (*simHandle, Decision) {
	var d Decision
	for try := 0; try < 3; try++ {
		i := s.visible(p, n)
		if try == 0 {
			s.looked(p, n)
		}
		if try > 0 && d.Access == AccessRedirect {
			i = s.items[d.Item]
		}
		switch {
		case i == nil && !create:
			return nil, refuse(NotFound)
		case i != nil && create && m.Exclusive:
			return nil, refuse(Exists)
		case i != nil && try == 0:
			if d = s.approach(p, n, m); d.Refuse != nil {
				return nil, d
			}
		}
		at := n
		d = s.openOnce(p, i, &at, m)
		stale := d.Refuse != nil && d.Refuse.Reason == Stale
		if d.Refuse != nil && !stale {
			return nil, d
		}
		if !stale && d.Access != AccessRedirect {
			return s.attach(p, n, d, m), d
		}
	}
	return nil, d
}

func (s *sim) openOnce(p *Party, i *Item, n *NameKey, m OpenMode) Decision {
	op := OpCreate
	if i != nil {
		op, *n = OpOpen, i.Name
	}
	e := s.event(op, p)
	e.Open, e.Make = m, s.lastID+1
	if i != nil {
		e.Item = i.ID
	}
	return s.decide(s.world(*n, nil), e)
}

// attach counts a new description.
func (s *sim) attach(p *Party, n NameKey, d Decision, m OpenMode) *simHandle {
	h := &simHandle{party: p, item: d.Item, access: d.Access, path: n, write: m.Write}
	i := s.items[d.Item]
	if h.counted() {
		i.Writers++
		i.Begun = false
	}
	if h.access == AccessClaim {
		i.Readers++
	}
	if m.Truncate && h.access == AccessWrite && len(d.Effects) == 0 {
		h.wrote = true
	}
	s.handles = append(s.handles, h)
	return h
}

func (h *simHandle) counted() bool {
	return h.write && (h.access == AccessWrite || h.access == AccessInPlace)
}

// write is the first write: a version made from another gets bytes, a file made to be locked gets what is no pid.
func (s *sim) write(h *simHandle) Decision {
	i := s.items[h.item]
	if i.State == Gone && i.Derived {
		return refuse(Fenced)
	}
	if i.Derived || h.access == AccessInPlace {
		e := s.event(OpWrite, h.party)
		e.Item = i.ID
		if d := s.decide(s.world(i.Name, nil), e); d.Refuse != nil {
			return d
		}
	}
	h.wrote = true
	if i.Derived {
		i.Derived = false
		s.disk.private[i.ID] = *i
	}
	i.Empty, i.Changed = false, true
	if !i.Ghost {
		return Decision{}
	}
	e := s.event(OpPayload, h.party)
	e.Item = i.ID
	return s.decide(s.world(i.Name, nil), e)
}

// lock asks for a lock by a descriptor.
func (s *sim) lock(h *simHandle) Decision {
	i := s.items[h.item]
	if i.State != Staged || !i.Empty {
		return Decision{}
	}
	e := s.event(OpLock, h.party)
	e.Item = i.ID
	return s.decide(s.world(i.Name, nil), e)
}

// close is the last close of a description.
func (s *sim) close(h *simHandle, verdict Verdict) Decision {
	s.handles = slices.DeleteFunc(s.handles, func(o *simHandle) bool { return o == h })
	i := s.items[h.item]
	if h.counted() {
		i.Writers--
		s.judge(i, verdict)
	}
	if h.access == AccessClaim && i.Readers > 0 {
		i.Readers--
	}
	op, due := s.closing(h, i)
	if !due {
		return Decision{}
	}
	e := s.event(op, h.party)
	e.Item, e.Unopened = i.ID, h.unopened
	return s.decide(s.aboutItem(i), e)
}

// closing tells what the close of a description means for its item, if anything.
func (s *sim) closing(h *simHandle, i *Item) (Op, bool) {
	last := !slices.ContainsFunc(s.handles, func(o *simHandle) bool { return o.item == i.ID })
	switch {
	case h.counted() && i.Writers == 0 && i.State == Held && i.Barrier == BarrierForeign:
		return OpLifted, true
	case h.counted() && i.Writers == 0 && i.State == Public:
		return OpClosed, !i.Ghost || last
	case h.counted() && i.Writers == 0:
		return OpClosed, true
	case h.access == AccessClaim && i.State == Claimed && i.Readers == 0 && i.Ending.Kind != Living:
		return OpReleased, true
	}
	return OpClosed, i.Ghost && last
}

// judge: the verdict on a writer that ended with the item open.
func (s *sim) judge(i *Item, v Verdict) {
	t := Taint{Verdict: v}
	switch v.Kind {
	case Killed:
		t.Kind = TaintKilled
	case Failed:
		if t.Kind = TaintExit; i.Match.NonzeroExit {
			return
		}
	}
	i.Taint = i.Taint.Worse(t)
}

// aboutItem is the world of an event about one item: its name, and the name that it, or the claim it is written in,
// would go back to.
func (s *sim) aboutItem(i *Item) *World {
	if base := s.items[i.Base]; i.InClaim && base != nil && base.State == Claimed && base.Home != i.Name {
		return s.world(i.Name, &base.Home)
	}
	if i.State == Claimed && i.Home != i.Name {
		return s.world(i.Name, &i.Home)
	}
	return s.world(i.Name, nil)
}

func (s *sim) about(op Op, i *Item) Decision {
	e := s.event(op, nil)
	e.Item = i.ID
	return s.decide(s.aboutItem(i), e)
}

// order is an operator's order about an item, which may name another name for it.
func (s *sim) order(e *Event, i *Item, as *NameKey) Decision {
	e.Item = i.ID
	w := s.aboutItem(i)
	if as != nil && i.State != Claimed {
		w = s.world(i.Name, as)
	}
	return s.decide(w, e)
}

// end is the end of a process: its descriptors are closed, then what it owned is settled.
func (s *sim) end(p *Party, v Verdict, heir *Party) {
	for _, h := range slices.Clone(s.handles) {
		if h.party == p {
			s.close(h, v)
		}
	}
	s.ended(p, v, heir)
}

// ended settles what a party owned. Its descriptors may live on in others.
func (s *sim) ended(p *Party, v Verdict, heir *Party) {
	s.dead[p.ID] = true
	defer s.letGo(p)
	for _, i := range s.owned(p) {
		e := s.event(OpEnded, p)
		e.Item, e.Verdict, e.Heir = i.ID, v, heir
		s.decide(s.aboutItem(i), e)
	}
	for _, i := range s.items {
		i.Former = (&World{PartyOf: s.partyOf}).Bequeath(i, End{Party: p.ID, Verdict: v, Heir: heir})
	}
}

func (s *sim) rename(p *Party, from, to NameKey, noReplace, exchange bool) Decision {
	if s.visible(p, from) == nil {
		return refuse(NotFound)
	}
	s.looked(p, from)
	s.looked(p, to)
	e := s.event(OpRename, p)
	e.NoReplace, e.Exchange = noReplace, exchange
	return s.decide(s.world(from, &to), e)
}

func (s *sim) link(p *Party, from, to NameKey) Decision {
	i := s.visible(p, from)
	if i == nil {
		return refuse(NotFound)
	}
	s.looked(p, to)
	e := s.event(OpLink, p)
	e.Item, e.NoReplace = i.ID, true
	d := s.decide(s.world(i.Name, &to), e)
	if d.Refuse == nil && d.Access == AccessInPlace {
		i.Links++
		s.disk.public[to] = i.ID
		for n := range d.Then {
			d.Then[n].Next.Links = i.Links
		}
		s.perform(d.Then, false)
	}
	return d
}

func (s *sim) unlink(p *Party, n NameKey) Decision {
	if s.visible(p, n) == nil {
		return refuse(NotFound)
	}
	s.looked(p, n)
	return s.decide(s.world(n, nil), s.event(OpUnlink, p))
}

func (s *sim) take(p *Party, n NameKey) Decision {
	return s.decide(s.world(n, nil), s.event(OpTake, p))
}

// pass lets time go by: what waited for quiet is lifted.
func (s *sim) pass(d time.Duration) {
	s.now = s.now.Add(d)
	for _, i := range s.due() {
		s.about(OpLifted, i)
	}
}

func (s *sim) due() []*Item {
	var due []*Item
	for id := ItemID(1); id <= s.lastID; id++ {
		if i := s.items[id]; i != nil && i.State == Held && i.Barrier == BarrierQuiet && !i.Until.After(s.now) {
			due = append(due, i)
		}
	}
	return due
}

// restarted is the sim after a crash at this point: descriptors are gone, what the disk has is decided about.
func (s *sim) restarted() *sim {
	n := &sim{rules: s.rules, folders: s.folders, files: map[NameKey]*File{}, items: map[ItemID]*Item{}, parties: s.parties,
		names: s.names, dead: s.dead, heirs: s.heirs, observe: s.observe, rootBound: s.rootBound, jobs: s.jobs, work: map[ItemID]Job{}, now: s.now, lastID: s.lastID, disk: s.disk.clone()}
	for key, id := range n.disk.public {
		n.items[id] = &Item{ID: id, Name: key, State: Public, Match: s.items[id].Match, Attempts: s.items[id].Attempts, Links: 1}
	}
	var relics []*Item
	for id := ItemID(1); id <= s.lastID; id++ {
		if r, ok := n.disk.private[id]; ok {
			relics = append(relics, n.revive(r))
		}
	}
	for _, i := range relics {
		closed := i.State == Staged && i.Barrier == BarrierTemp
		d := Recover(n.aboutItem(i), i, closed, n.event(OpEnded, nil))
		n.perform(d.Effects, true)
	}
	return n
}

// revive is an item as its place and note tell it.
func (s *sim) revive(r Item) *Item {
	i := &Item{ID: r.ID, Name: r.Name, State: r.State, Match: s.rules.At(s.folders[r.Name.Folder], r.Name.Name), UID: r.UID, Since: r.Since,
		Home: r.Name, Empty: r.Empty, Attempts: r.Attempts, Taint: r.Taint, Links: 1}
	if r.State == Claimed {
		i.Home, i.Uncounted = r.Home, r.Uncounted
	}
	if r.State == Held || r.State == Staged && r.Barrier == BarrierTemp {
		i.Barrier, i.Until = r.Barrier, r.Until
	}
	if !s.dead[r.Owner] {
		i.Owner = r.Owner
	}
	s.items[i.ID] = i
	f := s.File(i.Name)
	f.Private = append(f.Private, i)
	return i
}
