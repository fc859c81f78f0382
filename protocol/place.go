package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Place is what the disk knows of a private item without reading it: the state (the area), the folder its name belongs
// to (by key, see docs/format.md), and the owner. It is the name of a folder in the area; the item lies in it under its
// own name.
type Place struct {
	State   State
	Barrier Barrier // Held
	Folder  string  // key of the folder, [0-9a-z]+
	Slot    int     // tells items of one owner, folder and name apart
	Owner   Process // zero PID: nobody
	Heirs   [3]Heir // who inherits, if the owner ends while nobody looks: the first that lives
}

// areas are the folders below the control folder, by state.
var areas = map[State]string{Staged: "staging", Parked: "parked", Abandoned: "abandoned", Held: "held", Claimed: "claimed", Quarantined: "quarantine"}

// Areas lists the areas of private items.
func Areas() []string {
	return []string{"staging", "parked", "abandoned", "held", "claimed", "quarantine"}
}

// Area is the folder below the control folder in which items of a state lie; "" for Public and Gone.
func (s State) Area() string { return areas[s] }

// Dir is the place's folder name within its area:
//
//	FOLDER~SLOT~HOST.BOOT.PID.START.UID.SESSION[.HEIRPID.HEIRSTART]…[~BARRIER]
func (p Place) Dir() string {
	s := fmt.Sprintf("%s~%d~%s", p.Folder, p.Slot, Line{p.Owner, p.Heirs})
	if p.Barrier != NoBarrier {
		s += "~" + p.Barrier.String()
	}
	return s
}

// ParsePlace reads a folder name of an area back. It accepts exactly what Dir writes.
func ParsePlace(area, dir string) (Place, error) {
	p := Place{}
	for s, a := range areas {
		if a == area {
			p.State = s
		}
	}
	f := strings.Split(dir, "~")
	if p.State == Gone || len(f) < 3 || len(f) > 4 {
		return p, fmt.Errorf("%q is no place of the area %q", dir, area)
	}
	if len(f) == 4 {
		p.Barrier = ParseBarrier(f[3])
	}
	p.Folder = f[0]
	p.Slot, _ = strconv.Atoi(f[1])
	line, err := ParseLine(f[2])
	p.Owner, p.Heirs = line.Process, line.Heirs
	if err != nil || p.Dir() != dir || p.Folder == "" {
		return p, fmt.Errorf("%q is no place of the area %q", dir, area)
	}
	return p, nil
}

// firstReplaced is older than this format: nothing was kept until then.
var firstReplaced = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseReplaced reads the name of a folder in which a version that was written over is kept: UNTIL~KEY, with UNTIL in
// nanoseconds since 1970 and the key of the folder it was in.
func ParseReplaced(dir string) (until time.Time, key string, ok bool) {
	text, key, _ := strings.Cut(dir, "~")
	ns, err := strconv.ParseInt(text, 10, 64)
	until = time.Unix(0, ns)
	number, errKey := strconv.ParseUint(key, 36, 64)
	ok = err == nil && errKey == nil && !until.Before(firstReplaced) && fmt.Sprintf("%d~%s", ns, strconv.FormatUint(number, 36)) == dir
	return until, key, ok
}
