package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MarkRecord is what the disk knows of a mark.
type MarkRecord struct {
	Line   Line   // its holder, and who inherits
	Folder string // key of the folder
	Name   string
	Ino    uint64 // of what has the name, and when that was made
	Born   int64
	Since  time.Time
	UID    uint32 // who made it
	Number int    // the process id that is written in it, as its holder's pid namespace counts; 0: its holder is not named in it
}

// String is how the disk names a mark: LINE~FOLDER~INO~BORN~SINCE~UID~NUMBER/NAME, times in nanoseconds since 1970.
func (r MarkRecord) String() string {
	return fmt.Sprintf("%s~%s~%d~%d~%d~%d~%d/%s", r.Line, r.Folder, r.Ino, r.Born, r.Since.UnixNano(), r.UID, r.Number, r.Name)
}

// ParseMarkRecord is the inverse of String. It accepts exactly what String writes.
func ParseMarkRecord(s string) (MarkRecord, error) {
	head, name, _ := strings.Cut(s, "/")
	f := strings.Split(head, "~")
	if len(f) != 7 {
		return MarkRecord{}, fmt.Errorf("%q is no record of a mark", s)
	}
	line, err := ParseLine(f[0])
	r := MarkRecord{Line: line, Folder: f[1], Name: name}
	r.Ino, _ = strconv.ParseUint(f[2], 10, 64)
	r.Born, _ = strconv.ParseInt(f[3], 10, 64)
	since, _ := strconv.ParseInt(f[4], 10, 64)
	r.Since = time.Unix(0, since)
	uid, _ := strconv.ParseUint(f[5], 10, 32)
	r.UID = uint32(uid)
	r.Number, _ = strconv.Atoi(f[6])
	if err != nil || r.String() != s || r.Folder == "" || name == "" {
		return MarkRecord{}, fmt.Errorf("%q is no record of a mark", s)
	}
	return r, nil
}
