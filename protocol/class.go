package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Class says what the files of a name are for (section 5 of docs/protocol.md). The zero value is the default.
type Class uint8

const (
	ClassQueue   Class = iota // handed over: hidden until complete, claimed by its reader
	ClassWork                 // a queue folder into which its workers move what they claim
	ClassShared               // a state file: versions, published by compare-and-swap
	ClassSerial               // a state file whose readers reserve it
	ClassLock                 // a lock file or mark
	ClassLog                  // appended to by many, read meanwhile
	ClassArchive              // settled items, a taken name keeps both
	ClassPlain                // as on any filesystem
	ClassRecords              // plain, with mandatory byte-range locks
)

var classNames = [...]string{"queue", "work", "shared", "serial", "lock", "log", "archive", "plain", "records"}

// String gives the name that rules use.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// ParseClass is the inverse of String. The error lists the classes.
func ParseClass(name string) (Class, error) {
	if i := slices.Index(classNames[:], name); i >= 0 {
		return Class(i), nil
	}
	return 0, fmt.Errorf("unknown class %q: use one of %s", name, strings.Join(classNames[:], ", "))
}

// InPlace tells whether files of the class are read and written in place and shown at once.
func (c Class) InPlace() bool {
	switch c {
	case ClassLock, ClassLog, ClassArchive, ClassPlain, ClassRecords:
		return true
	}
	return false
}

// Claimed tells whether opening an item of the class for reading claims it.
func (c Class) Claimed() bool { return c == ClassQueue || c == ClassWork }

// Versioned tells whether files of the class are sequences of versions, of which the newest is current (section 9).
func (c Class) Versioned() bool { return c == ClassShared || c == ClassSerial }

// named tells whether the name tables have a say in folders of the class.
func (c Class) named() bool { return c.Claimed() || c.Versioned() }
