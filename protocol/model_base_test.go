package protocol

import "strings"

// modelBases is what a model knows of state files: which version each job last read, and who began which.
type modelBases struct {
	known map[NameKey]map[Job]ItemID
	begun map[ItemID]Job
}

func newModelBases() modelBases {
	return modelBases{known: map[NameKey]map[Job]ItemID{}, begun: map[ItemID]Job{}}
}

// stateFile: the name is that of a state file, and not a temp name.
func (m *model) stateFile(n NameKey) bool {
	return strings.HasPrefix(m.sim.folders[n.Folder], "state") && !strings.HasSuffix(n.Name, ".tmp")
}

// knows notes by which open a job got to know a version, or began one.
func (m *model) knows(p *Party, n NameKey, h *simHandle, mode OpenMode) {
	if h == nil || !m.stateFile(n) {
		return
	}
	i, job := m.sim.items[h.item], m.sim.jobOf(p)
	if _, again := m.bases.begun[i.ID]; mode.Write && (!again || i.Owner == p.ID) {
		m.bases.begun[i.ID] = job
	}
	if i.Derived {
		i = m.sim.items[i.Base]
	}
	if mode.Read && !mode.Truncate && i.State == Public && i.Match.Class.Versioned() {
		m.know(n, job, i.ID)
	}
}

func (m *model) know(n NameKey, j Job, version ItemID) {
	if m.bases.known[n] == nil {
		m.bases.known[n] = map[Job]ItemID{}
	}
	m.bases.known[n][j] = version
}

// lostUpdate is I6: what becomes current is made by a job that knows what was, or never knew anything.
func (m *model) lostUpdate(verb string, who PartyID) {
	for id, i := range m.sim.items {
		old := m.before[id]
		if acted(verb) && i.State == Staged && i.Name != old.Name {
			m.bases.begun[id] = m.sim.jobOf(m.sim.partyOf(who)) // who gives it its name answers for it
		}
		if i.State != Public || !m.stateFile(i.Name) || old.State == Public && old.Name == i.Name {
			continue
		}
		checked := i.Match.Class.Versioned() // a log is not, until its last writer is gone
		if old.State == Held && old.Barrier == BarrierOlder {
			continue // its turn has come: nothing is current before it
		}
		job, began := m.bases.begun[id]
		if acted(verb) || !began {
			job = m.sim.jobOf(m.sim.partyOf(who))
		}
		was := m.was(i.Name)
		known := m.bases.known[i.Name][job]
		if checked && verb != "publish" && verb != "requeue" && old.Base == 0 && known != 0 && was != 0 && known != was {
			m.errorf("#%d became current by %s of %s over #%d, which its job does not know: it has read #%d", id, verb, m.sim.names[who], was, known)
		}
		if checked && !acted(verb) && verb != "publish" && old.Base != 0 && !old.InClaim && was != old.Base {
			m.errorf("#%d was made from #%d and became current over #%d", id, old.Base, was)
		}
		if known != 0 && (was == 0 || known == was) {
			m.know(i.Name, job, id)
		}
	}
}

// was is the version that was current before this step.
func (m *model) was(n NameKey) ItemID {
	for id, i := range m.before {
		if i.State == Public && i.Name == n && i.Match.Class.Versioned() {
			return id
		}
	}
	return 0
}
