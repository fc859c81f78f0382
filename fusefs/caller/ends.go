package caller

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Watch asks for the party's end on Ends, once, and keeps the party until then. Asking again changes nothing. A party
// that is already forgotten can't be watched.
func (t *Table) Watch(id protocol.PartyID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil {
		t.log.Error("asked to watch a forgotten party", "party", id)
		return
	}
	if !e.watched {
		e.watched = true
		t.tellLocked(e)
		t.placeLocked(e)
	}
}

// Ends delivers the end of each watched party. When it does, every FLUSH of the process has been answered and every
// RELEASE queued. Close closes it.
func (t *Table) Ends() <-chan protocol.End { return t.ends }

// Ended tells, by one poll, whether the party has ended: true as soon as its process is a zombie. A forgotten party
// counts as ended.
func (t *Table) Ended(id protocol.PartyID) bool {
	t.mu.Lock()
	e := t.byID[id]
	known := e == nil || e.end != nil
	t.mu.Unlock()
	return known || !e.living()
}

// End says how a party that has ended did, and who inherits from it. The answer never changes; it is Living before the
// end and Unknown for a forgotten party.
func (t *Table) End(id protocol.PartyID) protocol.End {
	t.mu.Lock()
	e := t.byID[id]
	t.mu.Unlock()
	if e == nil {
		return protocol.End{Party: id, Verdict: protocol.Verdict{Kind: protocol.Unknown}}
	}
	return t.settle(e)
}

// Ending says how a party that has ended did, or that is ending: one whose memory is gone, and with it its mappings. Living:
// it is not. It reads procfs, so no lock may be held.
func (t *Table) Ending(id protocol.PartyID) protocol.Verdict {
	e := t.entry(id)
	if e == nil || e.pid == 0 {
		return protocol.Verdict{Kind: protocol.Unknown}
	}
	if !e.living() {
		return t.settle(e).Verdict
	}
	tid := uint32(e.pid)
	if exits, err := t.exits(e, tid); err != nil || !exits {
		return t.settle(e).Verdict // Living, if it has not ended meanwhile
	}
	_, v := t.exiting(e, t.Party(id), tid)
	return v
}

// settle finds out how an entry's process ended, unless that is known, gives up its descriptors, and tells who watches.
func (t *Table) settle(e *entry) protocol.End {
	t.mu.Lock()
	end := e.end
	t.mu.Unlock()
	if end != nil {
		return *end
	}
	if e.living() {
		return protocol.End{Party: e.id}
	}
	found := protocol.End{Party: e.id, Verdict: t.verdictOf(e), Heir: t.heirOf(e)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.end == nil {
		e.end = &found
		t.orphanLocked(e)
		t.dropLocked(e)
		t.tellLocked(e)
		t.placeLocked(e)
	}
	return *e.end
}

// verdictOf asks the zombie, else the pidfd of the reaped process, else remembers the exiting close.
func (t *Table) verdictOf(e *entry) protocol.Verdict {
	st := stat{}
	err := e.dir.use(func(dir int) (err error) {
		st, err = readStat(dir, "stat")
		return err
	})
	t.mu.Lock()
	v, p := e.exit, e.party
	if err == nil && st.dead() {
		p = t.noteLocked(e, st)
	}
	t.mu.Unlock()
	if err == nil && st.dead() && t.maySee(p) {
		return protocol.VerdictOf(st.exit)
	}
	_ = e.proc.use(func(fd int) error {
		if w, ok := reaped(fd); ok || v.Kind == protocol.Living {
			v = w
		}
		return nil
	})
	if v.Kind == protocol.Living {
		v.Kind = protocol.Unknown
	}
	return v
}

// tellLocked queues the end of a watched party, once it has both.
func (t *Table) tellLocked(e *entry) {
	if e.watched && e.end != nil && !e.told {
		e.told = true
		t.news = append(t.news, *e.end)
		t.kick()
	}
}

// kick makes the goroutine look at news and done.
func (t *Table) kick() {
	_, _ = unix.Write(t.wake, binary.NativeEndian.AppendUint64(nil, 1)) // fails only when it is woken already
}

// listen makes the goroutine settle the party when its pidfd fires; id 0 is the eventfd.
func (t *Table) listen(fd int, id protocol.PartyID, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	return unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

func partyOf(event unix.EpollEvent) protocol.PartyID {
	return protocol.PartyID(uint32(event.Fd)) | protocol.PartyID(uint32(event.Pad))<<32
}

// watchEnds sleeps until a process in the table ends or kick is called. It is the only goroutine of the table, and
// there is no timer.
func (t *Table) watchEnds() {
	defer close(t.idle)
	defer close(t.ends)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(t.epoll, events, -1)
		if err != nil && err != unix.EINTR {
			t.log.Error("can't wait for the end of processes any more", "error", err)
			return
		}
		for _, event := range events[:max(n, 0)] {
			t.handle(partyOf(event))
		}
		if !t.deliver() {
			return
		}
	}
}

func (t *Table) handle(id protocol.PartyID) {
	if id == 0 {
		_, _ = unix.Read(t.wake, make([]byte, 8)) // resets the counter
		return
	}
	if e := t.entry(id); e != nil {
		t.settle(e)
	}
}

// deliver sends what is queued, and returns false when the table closes.
func (t *Table) deliver() bool {
	t.mu.Lock()
	news := t.news
	t.news = nil
	t.mu.Unlock()
	for _, end := range news {
		select {
		case t.ends <- end:
		case <-t.done:
			return false
		}
	}
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}
