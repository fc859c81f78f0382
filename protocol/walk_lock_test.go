package protocol

import "fmt"

// walkHold takes a lock on a state file, or gives it up.
func walkHold(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	how := []string{"ex", "sh", "un"}[s[3]%3]
	if i := w.sim.look(n).Public; how != "un" && (i == nil || w.sim.excluded(p, n, how)) {
		return "hold nothing"
	}
	w.sim.hold(p, n, how)
	return fmt.Sprintf("hold %s %s", text, how)
}

// excluded: somebody else has a lock that the one which is asked for conflicts with.
func (s *sim) excluded(p *Party, n NameKey, how string) bool {
	for _, h := range s.locks[n] {
		if h.By != p.ID && (how == "ex" || h.Mode == WriteLock) {
			return true
		}
	}
	return false
}

// modelLocks are the state files that somebody had locked before a step: who, and which version was current.
type modelLocks map[NameKey]modelLock

type modelLock struct {
	version ItemID
	holders []PartyID
}

// locked is the law of locks: no version takes the place of one that a stranger has locked, and none is taken away.
func (m *model) locked(verb string, who PartyID) {
	for n, old := range m.locks {
		if idOf(m.sim.look(n).Public) == old.version || verb == "publish" {
			continue
		}
		for _, holder := range old.holders {
			if m.holds(holder, n) && !m.kin(holder, who) {
				m.errorf("%s has locked %s, and %s has changed it by %s", m.sim.names[holder], m.sim.path(n), m.sim.names[who], verb)
			}
		}
	}
	m.locks = modelLocks{}
	for n, all := range m.sim.locks {
		f := m.sim.look(n)
		if f.Public == nil || !f.Public.Match.Class.Versioned() { // or it is written in place, as long as somebody does
			continue
		}
		l := modelLock{version: f.Public.ID}
		for _, h := range all {
			l.holders = append(l.holders, h.By)
		}
		m.locks[n] = l
	}
}

func (m *model) holds(p PartyID, n NameKey) bool {
	for _, h := range m.sim.locks[n] {
		if h.By == p {
			return true
		}
	}
	return false
}
