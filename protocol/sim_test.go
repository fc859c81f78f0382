package protocol

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sim is a mount without a kernel and without a disk: it turns calls into events, carries the decisions out on a map of
// names and in memory, and counts open descriptions, as the filesystem does.
type sim struct {
	rules     *Rules
	folders   []string
	files     map[NameKey]*File
	items     map[ItemID]*Item
	parties   []*Party
	names     map[PartyID]string
	dead      map[PartyID]bool
	heirs     map[PartyID]*Party
	observe   map[PartyID]bool
	rootBound bool
	locks     simLocks
	marks     map[NameKey]*Mark
	jobs      map[PartyID]Job // who is in another job than whom he descends from
	work      map[ItemID]Job
	disk      simDisk
	handles   []*simHandle
	lastID    ItemID
	now       time.Time
	effects   func(*sim, []Effect, int) // told after each effect
	said      []string
}

// simHandle is an open file description.
type simHandle struct {
	party    *Party
	item     ItemID
	access   Access
	path     NameKey // what was opened
	write    bool
	wrote    bool
	unopened bool // neither FLUSH nor WRITE came on it
	fenced   bool
}

var simStart = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func newSim(t testing.TB, rules ...string) *sim {
	s := &sim{files: map[NameKey]*File{}, items: map[ItemID]*Item{}, names: map[PartyID]string{}, dead: map[PartyID]bool{}, heirs: map[PartyID]*Party{},
		observe: map[PartyID]bool{}, jobs: map[PartyID]Job{}, work: map[ItemID]Job{}, now: simStart, disk: simDisk{public: map[NameKey]ItemID{}, private: map[ItemID]Item{}}}
	s.setRules(t, rules)
	return s
}

func (s *sim) setRules(t testing.TB, texts []string) {
	var rules []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		require.NoError(t, err)
		rules = append(rules, r)
	}
	var err error
	s.rules, err = NewRules(rules, DefaultNames())
	require.NoError(t, err)
}

// File and Item make the sim the Memory of Apply.
func (s *sim) File(n NameKey) *File {
	f := s.files[n]
	if f == nil {
		f = &File{Name: n, Match: s.rules.At(s.folders[n.Folder], n.Name)}
		s.files[n] = f
	}
	return f
}

func (s *sim) Item(id ItemID) *Item { return s.items[id] }

func (s *sim) key(p string) NameKey {
	folder, name := path.Split(p)
	folder = strings.TrimSuffix(folder, "/")
	if !slices.Contains(s.folders, folder) {
		s.folders = append(s.folders, folder)
	}
	return NameKey{Folder: FolderID(slices.Index(s.folders, folder)), Name: name}
}

func (s *sim) path(n NameKey) string { return path.Join(s.folders[n.Folder], n.Name) }

func (s *sim) party(name string) *Party {
	for _, p := range s.parties {
		if s.names[p.ID] == name {
			return p
		}
	}
	return nil
}

// add makes a party: a process in a session of its own, or a descendant of another.
func (s *sim) add(name string, parent *Party) *Party {
	id := PartyID(len(s.parties) + 1)
	p := &Party{ID: id, Process: Process{PID: 100 + int(id), Session: 100 + int(id), UID: 1000}}
	if parent != nil {
		p.Process.Session = parent.Process.Session
		p.Ancestors = append([]PartyID{parent.ID}, parent.Ancestors...)
	}
	s.parties, s.names[id] = append(s.parties, p), name
	return p
}

func (s *sim) partyOf(id PartyID) *Party {
	if id == 0 || int(id) > len(s.parties) {
		return nil
	}
	return s.parties[id-1]
}

func (s *sim) heirOf(id PartyID) *Party {
	if s.dead[id] {
		return nil
	}
	return s.heirs[id]
}

// look reads the disk's part of a File anew.
func (s *sim) look(n NameKey) *File {
	f := s.File(n)
	f.Public, f.Link, f.Bound, f.Mark = nil, nil, s.locks[LockFileOf(n)], s.marks[n]
	if i := s.items[s.disk.public[n]]; i != nil {
		if i.State == Public {
			i.Name, f.Public = n, i
		} else {
			f.Link = i
		}
	}
	return f
}

func (s *sim) world(n NameKey, target *NameKey) *World {
	w := &World{File: s.look(n), PartyOf: s.partyOf, HeirOf: s.heirOf, LocksOn: s.locksOn, RootBound: s.rootBound}
	if target != nil {
		w.Target = s.look(*target)
		if w.File.Public == w.Target.Public && w.File.Public != nil {
			w.File.Public.Name = n
		}
	}
	return w
}

func (s *sim) event(op Op, p *Party) *Event {
	e := &Event{Op: op, At: s.now, By: p}
	if p != nil {
		e.Observer, e.SeesClaimed = s.observe[p.ID], s.observe[p.ID]
	}
	return e
}

// decide runs one event to its end.
func (s *sim) decide(w *World, e *Event) Decision {
	s.forJob(w, e)
	d := Decide(w, e)
	if d.Refuse == nil {
		s.perform(d.Effects, e.Op == OpEnded || e.Op == OpReleased || e.Op == OpOrderRelease || e.Op == OpOrderDiscard)
		s.rebase(e, d)
	}
	return d
}

func (s *sim) perform(effects []Effect, taken bool) {
	for n := range effects {
		s.carryOut(&effects[n], taken)
		if s.effects != nil {
			s.effects(s, effects, n)
		}
	}
}

// carryOut makes an effect true on the disk, then in memory; taken: a claim that ends by it is taken away.
func (s *sim) carryOut(x *Effect, taken bool) {
	if x.Kind == Make {
		s.lastID = x.Next.ID
		s.items[s.lastID] = &Item{ID: s.lastID}
	}
	i := s.items[x.Next.ID]
	old := *i
	s.disk.carryOut(i, x)
	Apply(s, i, *x)
	if old.State == Claimed && i.State != Claimed {
		s.leaveClaim(i, taken)
	}
	if taken && old.InClaim && i.State != Staged {
		s.fence(i)
	}
	if i.State == Public && old.State == Staged || i.State == Staged && old.State == Public {
		s.regrant(i)
	}
	s.said = append(s.said, s.describe(&old, i, x))
}

// leaveClaim: descriptors on a claim that is over read on, unless the claim was taken away.
func (s *sim) leaveClaim(i *Item, taken bool) {
	for _, h := range s.handles {
		if h.item == i.ID && h.access == AccessClaim {
			h.access, h.fenced = AccessView, taken
		}
	}
	i.Readers = 0
}

// fence: what was written within a claim is nobody's any more when that is taken away.
func (s *sim) fence(i *Item) {
	for _, h := range s.handles {
		h.fenced = h.fenced || h.item == i.ID
	}
}

// regrant: a file that was made to be locked, or no longer is, is open to the same descriptors in another way.
func (s *sim) regrant(i *Item) {
	for _, h := range s.handles {
		if h.item == i.ID && i.Ghost {
			h.access = AccessInPlace
		} else if h.item == i.ID && i.State == Staged {
			h.access = AccessWrite
		}
	}
}
