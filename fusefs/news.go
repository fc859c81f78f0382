package fusefs

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// mostEvents bounds the events that are remembered.
const mostEvents = 4096

// eventLog remembers the last events, and counts all. Guarded by desk.mu.
type eventLog struct {
	last  []said
	count uint64
}

// said is an event, with what decides who may know of it, and of how much.
type said struct {
	report.Event
	concerns int64  // the user whose item it is about, beside who did it; or nobody
	discreet string // the detail for those who may not know whom the caller met
}

func (l *eventLog) add(s said) {
	if len(l.last) >= mostEvents {
		l.shorten()
	}
	l.count++
	s.Seq = l.count
	s.Raw = raw(s.Path)
	l.last = append(l.last, s)
}

// nobody is no user.
const nobody = -1

// shorten forgets the older half of the events. If one user alone has caused more than half, it is the older half of his:
// he can't wipe out what others did.
func (l *eventLog) shorten() {
	byUID := map[int64]int{}
	for _, s := range l.last {
		byUID[s.by()]++
	}
	older, loud := len(l.last)/2, int64(nobody)
	for uid, n := range byUID {
		if uid > 0 && n > mostEvents/2 {
			older, loud = n/2, uid
		}
	}
	l.last = slices.DeleteFunc(l.last, func(s said) bool {
		if older == 0 || loud != nobody && s.by() != loud {
			return false
		}
		older--
		return true
	})
}

// by is the user who did it.
func (s said) by() int64 {
	if s.By == nil {
		return nobody
	}
	return int64(s.By.UID)
}

// after are the events that are remembered of those after a number.
func (l *eventLog) after(seq uint64) []said {
	if seq > l.count {
		return l.last
	}
	return l.last[sort.Search(len(l.last), func(n int) bool { return l.last[n].Seq > seq }):]
}

// forUser is what a user may know of the event. Who did it knows all but whom he met; whose item it is about, who came
// by it but not by which process.
func (s said) forUser(uid uint32) (report.Event, bool) {
	e := s.Event
	e.Detail = s.discreet
	switch {
	case e.By != nil && e.By.UID == uid:
	case s.concerns == int64(uid) && e.By != nil:
		e.By = &report.Owner{UID: e.By.UID}
	case s.concerns != int64(uid):
		return report.Event{}, false
	}
	return e, true
}

func (d *desk) eventsAfterLocked(seq uint64, uid uint32) []report.Event {
	all := []report.Event{}
	for _, s := range d.events.after(seq) {
		if d.oversees(uid) {
			all = append(all, s.Event)
		} else if e, ok := s.forUser(uid); ok {
			all = append(all, e)
		}
	}
	return all
}

// eventsFor is the control file "events": the last of them, oldest first.
func (d *desk) eventsFor(uid uint32) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.eventsAfterLocked(0, uid)
}

// newsFor is the control file "events@N": what happened after event number N.
func (d *desk) newsFor(uid uint32, seq uint64) report.News {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := report.News{Since: d.facts.Since, Last: d.events.count, Events: d.eventsAfterLocked(seq, uid)}
	if seq < n.Last {
		n.Dropped = n.Last - seq - uint64(len(d.events.after(seq)))
	}
	return n
}

// newsPrefix begins the names of the control files "events@N". There is one for each number, so they are in no table:
// the number is in the node's id.
const (
	newsPrefix = "events@"
	newsID     = uint64(1) << 62
)

// newsNode is the node of an id, nil if it is not such a file's.
func (d *desk) newsNode(id uint64) *node {
	if id&newsID == 0 {
		return nil
	}
	content := func(uid uint32) any { return d.newsFor(uid, id&^newsID) }
	return &node{id: id, kind: controlNode, control: &virtual{tell: content}}
}

// newsNamed is the node of a name, nil if it is not such a file's.
func (d *desk) newsNamed(name string) *node {
	number, ok := strings.CutPrefix(name, newsPrefix)
	if seq, err := strconv.ParseUint(number, 10, 62); ok && err == nil && strconv.FormatUint(seq, 10) == number {
		return d.newsNode(newsID | seq)
	}
	return nil
}
