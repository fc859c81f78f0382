package caller

import "github.com/airlockfs/airlockfs/protocol"

// learnPrompts finds out which of a process and its ancestors at a terminal are shells with a person at their prompt. What
// such a shell reads by itself, in `while read` or `$(cat f)`, nobody works on.
func (t *Table) learnPrompts(e *entry, p *protocol.Party) *protocol.Party {
	for a := e; a != nil && p.Terminal; a = t.above(a) {
		if st, err := a.status(); err == nil && st.jobControl() {
			t.mu.Lock()
			a.known.prompt = true
			a.changeLocked(func(*protocol.Party) {})
			t.mu.Unlock()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.party
}

// above is the nearest ancestor that is a shell, and not known to have a prompt.
func (t *Table) above(e *entry) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e = e.parent; e != nil; e = e.parent {
		if isShell(e.party.Program) && !e.known.prompt {
			return e
		}
	}
	return nil
}
