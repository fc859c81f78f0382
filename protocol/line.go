package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// Line is a process as the disk names it, with who inherits if it ends while nobody looks: the first that lives.
type Line struct {
	Process Process
	Heirs   [3]Heir
}

// Heir is a process of the same host, boot, user and session as the one it inherits from; zero PID: nobody.
type Heir struct {
	PID   int
	Start uint64
}

// String is HOST.BOOT.PID.START.UID.SESSION[.HEIRPID.HEIRSTART]…
func (l Line) String() string {
	s := l.Process.String()
	for _, h := range l.Heirs {
		if h.PID != 0 {
			s += fmt.Sprintf(".%d.%d", h.PID, h.Start)
		}
	}
	return s
}

// ParseLine is the inverse of String. It accepts exactly what String writes.
func ParseLine(s string) (Line, error) {
	l := Line{}
	f := strings.Split(s, ".")
	if len(f) < 6 || len(f)%2 != 0 || len(f) > 6+2*len(l.Heirs) {
		return Line{}, fmt.Errorf("%q names no process", s)
	}
	l.Process = processOf(f)
	for n := 6; n < len(f); n += 2 {
		h := &l.Heirs[n/2-3]
		h.PID, _ = strconv.Atoi(f[n])
		h.Start, _ = strconv.ParseUint(f[n+1], 10, 64)
	}
	if l.String() != s {
		return Line{}, fmt.Errorf("%q names no process", s)
	}
	return l, nil
}

// All are the processes of the line, who was there first, first.
func (l Line) All() []Process {
	all := []Process{l.Process}
	for _, h := range l.Heirs {
		if h.PID != 0 {
			heir := l.Process
			heir.PID, heir.Start = h.PID, h.Start
			all = append(all, heir)
		}
	}
	return all
}
