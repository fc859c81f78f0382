package caller

import "github.com/airlockfs/airlockfs/protocol"

// MarkEnd says how a party that has ended did, and who goes on with the marks that it made: its parent in the same session, also
// at a terminal, since mkdir(1) itself needs no lock. If that has ended as well, its own end counts; also if it was killed
// while mkdir(1) was still at work.
func (t *Table) MarkEnd(id protocol.PartyID) protocol.End {
	end := protocol.End{Party: id, Verdict: protocol.Verdict{Kind: protocol.Unknown}}
	for e := t.entry(id); e != nil; {
		end.Verdict = t.settle(e).Verdict
		if end.Verdict.Kind != protocol.Clean && end.Verdict.Kind != protocol.Unknown {
			return end
		}
		next, orphan := t.goesOnWithMarks(e)
		switch {
		case next == nil:
			end.Verdict = t.orLeaders(e, end.Verdict)
		case next != nil && next.living():
			end.Heir = t.partyOf(next)
			return end
		case orphan && !killed(t.settle(next).Verdict):
			return end
		}
		e = next
	}
	return end
}

// orLeaders: an mkdir(1) whose script was killed between its fork and its first call has no parent that we know. If the leader of
// its process group was killed, so was the script.
func (t *Table) orLeaders(e *entry, own protocol.Verdict) protocol.Verdict {
	t.mu.Lock()
	var leader *entry
	for _, l := range t.byID {
		if l.ino != 0 && l.ino == e.leader && l != e {
			leader = l
		}
	}
	t.mu.Unlock()
	if leader == nil || leader.living() {
		return own
	}
	if v := t.settle(leader).Verdict; killed(v) {
		return v
	}
	return own
}

func (t *Table) partyOf(e *entry) *protocol.Party {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.party
}

// goesOnWithMarks is who inherits them from an entry that has ended, nil if nobody. An orphan has outlived him.
func (t *Table) goesOnWithMarks(e *entry) (next *entry, orphan bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := e.parent
	sameSession := p != nil && p.party.Process.Session == e.party.Process.Session
	if sameSession && !supervisors[p.party.Program] && (e.party.Worker == "" || e.party.Worker == p.party.Worker) && (e.execed || e.subshellLocked()) {
		return p, e.orphan
	}
	return t.heirLocked(e), false
}
