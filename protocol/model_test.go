package protocol

import (
	"fmt"
	"slices"
)

// model watches a sim from outside and knows the guarantees of section 2, but none of the rules that keep them: who is
// whose kin, who delivered what, and what an item must not become.
type model struct {
	sim    *sim
	parent map[PartyID]PartyID
	before map[ItemID]Item             // as of the last step
	given  map[ItemID]bool             // was last public as an item of a queue
	torn   map[ItemID]bool             // some writer of it ended badly, or a write failed
	lost   map[ItemID]bool             // a write failed
	former map[ItemID]map[PartyID]bool // whose claims on it were released, and who have not opened it since
	bases  modelBases
	locks  modelLocks
	errs   []string
}

func newModel(s *sim) *model {
	m := &model{sim: s, parent: map[PartyID]PartyID{}, before: map[ItemID]Item{}, given: map[ItemID]bool{}, torn: map[ItemID]bool{},
		lost: map[ItemID]bool{}, former: map[ItemID]map[PartyID]bool{}, bases: newModelBases()}
	s.effects = func(s *sim, _ []Effect, _ int) { m.crash() }
	return m
}

func (m *model) errorf(format string, args ...any) {
	m.errs = append(m.errs, fmt.Sprintf(format, args...))
}

// kin: who is of's process or its descendant.
func (m *model) kin(of, who PartyID) bool {
	for ; who != 0; who = m.parent[who] {
		if who == of {
			return true
		}
	}
	return false
}

// related: one of them descends from the other.
func (m *model) related(a, b PartyID) bool { return m.kin(a, b) || m.kin(b, a) }

// handed: the item stands where what is in it is handed from one to the other.
func (m *model) handed(i *Item) bool {
	return !i.Match.Class.InPlace() && !i.Ghost
}

// step checks everything after one call of who.
func (m *model) step(verb string, who PartyID) {
	m.structure(m.sim)
	m.counts()
	m.released(verb, who)
	m.lostUpdate(verb, who)
	m.locked(verb, who)
	for _, i := range m.sim.items {
		m.claim(i)
		m.became(i, verb, who)
	}
	m.strangers()
	m.crash()
	for id, i := range m.sim.items {
		if acted(verb) && i.Name != m.before[id].Name && !m.written(id) {
			m.torn[id] = false // an act of its own: it answers for what its writer left
		}
		if ordered := m.before[id]; verb == "requeue" && ordered.State != i.State && ordered.Private() || verb == "publish" && i.State == Public {
			m.torn[id], m.lost[id] = false, m.lost[id] && verb == "publish" // the operator answers for it
		}
		m.before[id] = *i
		if i.State == Public {
			m.given[id] = m.handed(i)
		}
	}
}

// structure: every item is in one place, in memory as on the disk.
func (m *model) structure(s *sim) {
	places := map[ItemID]int{}
	for n, f := range s.files {
		for _, i := range f.Private {
			places[i.ID]++
			if i.State == Public || i.State == Gone || i.Name != n {
				m.errorf("#%d is %s as %s, and kept as private under %s", i.ID, i.State, s.path(i.Name), s.path(n))
			}
		}
	}
	public := map[ItemID]int{}
	for _, id := range s.disk.public {
		public[id]++
	}
	for id, i := range s.items {
		_, private := s.disk.private[id]
		want := map[bool]int{true: 1}[i.State != Public && i.State != Gone]
		if places[id] != want {
			m.errorf("#%d is %s, and kept %d times as private", id, i.State, places[id])
		}
		if (public[id] > 0) != (i.State == Public) && public[id] < i.Links-1 || private != (want == 1 && !i.Derived) {
			m.errorf("#%d is %s, on the disk %d times public, private %v", id, i.State, public[id], private)
		}
	}
}

// counts: the counters are the numbers of open descriptions.
func (m *model) counts() {
	writers, readers := map[ItemID]int{}, map[ItemID]int{}
	for _, h := range m.sim.handles {
		if h.write && (h.access == AccessWrite || h.access == AccessInPlace) {
			writers[h.item]++
		}
		if h.access == AccessClaim {
			readers[h.item]++
		}
	}
	for id, i := range m.sim.items {
		if i.State != Gone && (i.Writers != writers[id] || i.Readers != readers[id]) {
			m.errorf("#%d is %s with %d writers and %d readers, but counts %d and %d", id, i.State, writers[id], readers[id], i.Writers, i.Readers)
		}
	}
}

// claim is I3: a claimed item is one living party's, or was an ended one's whose kin still have it open; it passes to
// kin only. Nothing else is a dead party's either.
func (m *model) claim(i *Item) {
	dead := i.Owner != 0 && m.sim.dead[i.Owner]
	switch {
	case i.State == Gone:
	case i.State == Claimed && i.Owner == 0:
		m.errorf("#%d is claimed by nobody", i.ID)
	case i.State == Claimed && dead && (i.Ending.Kind == Living || !m.open(i)):
		m.errorf("#%d is claimed by %s, who has ended", i.ID, m.sim.names[i.Owner])
	case i.State != Claimed && dead:
		m.errorf("#%d is %s and belongs to %s, who has ended", i.ID, i.State, m.sim.names[i.Owner])
	case i.State == Public && i.Owner != 0, i.State == Quarantined && i.Owner != 0:
		m.errorf("#%d is %s and belongs to %s", i.ID, i.State, m.sim.names[i.Owner])
	}
	if old := m.before[i.ID]; i.State == Claimed && old.State == Claimed && !m.related(old.Owner, i.Owner) {
		m.errorf("the claim on #%d passed from %s to %s, a stranger", i.ID, m.sim.names[old.Owner], m.sim.names[i.Owner])
	}
	for _, h := range m.sim.handles {
		if h.item == i.ID && h.access == AccessClaim && i.State != Gone && !m.related(i.Owner, h.party.ID) {
			m.errorf("%s keeps the claim of %s on #%d", m.sim.names[h.party.ID], m.sim.names[i.Owner], i.ID)
		}
	}
}

// open: somebody has the claimed item, or a version begun in the claim, open.
func (m *model) open(i *Item) bool {
	for _, h := range m.sim.handles {
		o := m.sim.items[h.item]
		if o == i && h.access == AccessClaim || o.InClaim && o.Base == i.ID && o.State == Staged && h.write {
			return true
		}
	}
	return false
}

// became is I2 and I4: what an item must not have become by this call.
func (m *model) became(i *Item, verb string, who PartyID) {
	old, known := m.before[i.ID]
	if i.State == Public && m.handed(i) && (!known || old.State != Public) {
		m.published(i, verb)
	}
	if !m.given[i.ID] {
		return
	}
	switch i.State {
	case Public, Claimed, Held:
	case Gone:
		if old.State != Gone {
			m.gone(i, &old, verb, who)
		}
	default:
		m.errorf("#%d was handed over and is %s", i.ID, i.State)
	}
}

func (m *model) published(i *Item, verb string) {
	if m.written(i.ID) {
		m.errorf("#%d is public while it is written", i.ID)
	}
	if verb == "requeue" {
		return
	}
	if m.lost[i.ID] || m.torn[i.ID] && !acted(verb) && verb != "publish" {
		m.errorf("#%d is public though its writer failed", i.ID)
	}
}

func acted(verb string) bool { return verb == "rename" || verb == "link" }

// written: somebody has the item open to write a version of his own.
func (m *model) written(id ItemID) bool {
	for _, h := range m.sim.handles {
		if h.item == id && h.write && h.access == AccessWrite && !h.fenced {
			return true
		}
	}
	return false
}

// released is I5: whose claim was released gets at the item only by opening it anew.
func (m *model) released(verb string, who PartyID) {
	for id, i := range m.sim.items {
		old, known := m.before[id]
		for f := range m.former[id] {
			mine := old.State == Public && m.kin(f, who) && (verb == "unlink" || acted(verb))
			if mine && (i.State == Gone || i.State == Public && i.Name != old.Name) {
				m.errorf("#%d was taken from %s, and is settled by %s of %s", id, m.sim.names[f], verb, m.sim.names[who])
			}
			if i.State == Claimed && old.State == Public && m.kin(f, i.Owner) || i.Name != old.Name {
				delete(m.former[id], f)
			}
		}
		if verb == "release" && known && old.State == Claimed && i.State != Claimed && slices.Contains(i.Former.All(), old.Owner) {
			if m.former[id] == nil {
				m.former[id] = map[PartyID]bool{}
			}
			m.former[id][old.Owner] = true
		}
	}
}

// opened: whoever opens an item for writing when nobody else does answers for it from now on. What a failed write lost
// is only made good from the start.
func (m *model) opened(h *simHandle, truncate bool) {
	if h == nil || h.access != AccessWrite || m.sim.items[h.item].Writers > 1 {
		return
	}
	m.torn[h.item] = false
	m.lost[h.item] = m.lost[h.item] && !truncate
}

// ended: a writer ended badly with the item open.
func (m *model) ended(h *simHandle) {
	if h.write && h.access == AccessWrite {
		m.torn[h.item] = true
	}
}

// gone: settled by who had it or could see it, or replaced by what now stands in its place.
func (m *model) gone(i, old *Item, verb string, who PartyID) {
	if verb == "discard" {
		return // for good
	}
	if verb == "unlink" {
		if old.Owner != 0 && !m.kin(old.Owner, who) {
			m.errorf("#%d of %s was removed by %s", i.ID, m.sim.names[old.Owner], m.sim.names[who])
		}
		return
	}
	for _, o := range m.sim.items {
		was := m.before[o.ID]
		if o != i && (was.State != o.State || was.Name != o.Name) && (o.Name == old.Name || o.Name == old.Home) && (o.State == Public || o.State == Claimed || o.State == Held) {
			return
		}
	}
	if verb == "rename" && old.State == Held && m.kin(old.Owner, who) {
		return // one's own, written over
	}
	m.errorf("#%d was %s, and is nowhere after %s by %s", i.ID, old.State, verb, m.sim.names[who])
}

// strangers is I1: what is not public is seen by kin only.
func (m *model) strangers() {
	for n := range m.sim.files {
		for _, p := range m.sim.parties {
			if m.sim.dead[p.ID] {
				continue
			}
			i := m.sim.visible(p, n)
			if i == nil || i.State == Public || m.kin(i.Owner, p.ID) || m.alias(n, i, p.ID) {
				continue
			}
			if i.State == Parked {
				continue // all are of one user
			}
			m.errorf("%s sees #%d as %s, which is %s", m.sim.names[p.ID], i.ID, m.sim.path(n), i.State)
		}
	}
}

func (m *model) alias(n NameKey, i *Item, who PartyID) bool {
	for _, a := range m.sim.files[n].Aliases {
		if a.Item == i && m.kin(a.By, who) {
			return true
		}
	}
	return false
}

// crash is I4 at this very moment: what a restart would find must be allowed too.
func (m *model) crash() {
	r := m.sim.restarted()
	m.structure(r)
	for id, i := range r.items {
		switch {
		case i.State == Claimed && (i.Owner == 0 || m.sim.dead[i.Owner]):
			m.errorf("after a crash #%d is claimed by nobody who lives", id)
		case i.State == Gone && m.replaced(r, i):
		case m.given[id] && i.State != Public && i.State != Claimed && i.State != Held:
			m.errorf("after a crash #%d, which was handed over, is %s", id, i.State)
		case i.State == Public && m.handed(i) && m.sim.items[id].State == Staged:
			m.errorf("after a crash #%d is public, which is %s", id, m.sim.items[id].State)
		}
	}
	for id, i := range m.sim.items {
		if m.given[id] && i.State != Gone && r.items[id] == nil {
			m.errorf("after a crash #%d is nowhere, which is %s", id, i.State)
		}
	}
}

// replaced: what waited under the same name became public instead, as it would have without the crash.
func (m *model) replaced(r *sim, i *Item) bool {
	o := r.disk.public[i.Name]
	return o != 0 && m.sim.items[o].State == Held
}
