package caller

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// mostDescendants bounds how many are looked at for one of that number, where a pid namespace hides whose it is.
const mostDescendants = 1000

// Named finds the process that a party means by one of the numbers it has written: itself, an ancestor or a living descendant, in
// whatever session, by its number in the party's own pid namespace. A number is anybody's, so it means nobody else; and
// pid 1 of the machine is nobody, though an ancestor of everybody. Nor does a user mean an ancestor of another user: what started
// his session lives longer than he could want. number is the one that was found.
func (t *Table) Named(id protocol.PartyID, numbers []int) (p *protocol.Party, number int) {
	e := t.entry(id)
	if e == nil || e.pid == 0 {
		return nil, 0
	}
	st, err := e.status()
	if err != nil {
		return nil, 0
	}
	for _, number := range numbers {
		if found := t.relative(e, st, number); found != nil {
			return t.partyOf(found), number
		}
	}
	return nil, 0
}

func (t *Table) relative(e *entry, st status, number int) *entry {
	level := len(st.numbers) - 1
	switch {
	case level < 0 || level == 0 && number <= 1:
		return nil
	case st.numbers[level] == number:
		return e
	}
	pid := ancestorNumbered(st, level, number)
	if above, err := statusOf(pid); pid != 0 && (err != nil || st.uid != 0 && above.uid != st.uid) {
		return nil
	}
	if pid == 0 {
		pid = descendantNumbered(e.pid, level, number)
	}
	if pid == 0 {
		return nil
	}
	found, _, err := t.process(pid, 0)
	if err != nil || !found.living() {
		return nil
	}
	// Its pid may have been another's when it was looked at. Now it is this one's as long as that lives.
	if now, err := found.status(); err != nil || !now.numbered(level, number) || ancestorNumbered(st, level, number) != pid && !descends(pid, e.pid) {
		return nil
	}
	return found
}

// numbered tells whether the process has this number at a level of pid namespaces.
func (st *status) numbered(level, number int) bool {
	return level < len(st.numbers) && st.numbers[level] == number
}

func statusOf(pid int) (status, error) {
	return readStatus(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/status", pid))
}

// ancestorNumbered is the nearest ancestor of that number. Those outside of the pid namespace have none in it.
func ancestorNumbered(st status, level, number int) (pid int) {
	for range maxAncestors {
		pid = st.ppid
		above, err := statusOf(pid)
		if pid == 0 || err != nil || len(above.numbers) <= level {
			return 0
		}
		if above.numbered(level, number) {
			return pid
		}
		st = above
	}
	return 0
}

// descendantNumbered is a descendant of that number. In our own pid namespace the number is its pid.
func descendantNumbered(of, level, number int) (pid int) {
	if level == 0 {
		if descends(number, of) {
			return number
		}
		return 0
	}
	below := children(of)
	for n := 0; n < len(below) && n < mostDescendants; n++ {
		if st, err := statusOf(below[n]); err == nil && st.numbered(level, number) {
			return below[n]
		}
		below = append(below, children(below[n])...)
	}
	return 0
}

// descends tells whether a process has an ancestor, in whatever session.
func descends(pid, ancestor int) bool {
	for range maxAncestors {
		st, err := statusOf(pid)
		if err != nil || st.ppid == 0 {
			return false
		}
		if pid = st.ppid; pid == ancestor {
			return true
		}
	}
	return false
}

// children are the processes that the main thread of a process has started.
func children(pid int) []int {
	text, err := readAt(unix.AT_FDCWD, fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}
