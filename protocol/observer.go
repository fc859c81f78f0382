package protocol

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// ObserverSpec names callers who are observers by the user's wish. Exactly one of the fields that By tells is set.
type ObserverSpec struct {
	By  ObserverBy
	UID uint32
	Exe string // absolute path, to be compared by device and inode

	glob  string
	names []part
}

// ObserverBy says what an ObserverSpec looks at.
type ObserverBy uint8

const (
	ObserverByUID ObserverBy = iota
	ObserverByExe
	ObserverByName
)

// ParseObserver reads uid=N, exe=PATH or name=GLOB. GLOB is compared with the name that the kernel keeps of a program,
// its first 15 bytes, so text before the first wildcard is cut to these.
func ParseObserver(text string) (ObserverSpec, error) {
	kind, value, _ := strings.Cut(text, "=")
	parse, ok := map[string]func(string) (ObserverSpec, error){
		"uid": observerUID, "exe": observerExe, "name": observerName,
	}[kind]
	if !ok {
		return ObserverSpec{}, fmt.Errorf("observer %q: write uid=N, exe=PATH or name=GLOB", text)
	}
	o, err := parse(value)
	if err != nil {
		return ObserverSpec{}, fmt.Errorf("observer %q: %w", text, err)
	}
	return o, nil
}

func observerUID(value string) (ObserverSpec, error) {
	uid, err := strconv.ParseUint(value, 10, 32)
	if err != nil || uint32(uid) == ^uint32(0) {
		return ObserverSpec{}, errors.New("a uid is a number from 0 to 4294967294")
	}
	return ObserverSpec{By: ObserverByUID, UID: uint32(uid)}, nil
}

func observerExe(value string) (ObserverSpec, error) {
	if !path.IsAbs(value) || strings.Contains(value, "\x00") {
		return ObserverSpec{}, errors.New("exe= takes the absolute path of a program")
	}
	return ObserverSpec{By: ObserverByExe, Exe: value}, nil
}

func observerName(value string) (ObserverSpec, error) {
	texts, err := expandBraces(value)
	if err != nil {
		return ObserverSpec{}, err
	}
	o := ObserverSpec{By: ObserverByName, glob: value}
	for _, t := range texts {
		p, err := compilePart(t)
		switch {
		case err != nil:
			return ObserverSpec{}, err
		case t == "" || p.kind == anyFolders:
			return ObserverSpec{}, errors.New("name= takes a program's name, with *, ? and [a-z] as wildcards")
		case len(p.prefix) >= taskNameSize:
			p = part{kind: literal, prefix: taskName(p.prefix)}
		}
		o.names = append(o.names, p)
	}
	return o, nil
}

// String gives the specification as ParseObserver reads it.
func (o ObserverSpec) String() string {
	switch o.By {
	case ObserverByUID:
		return fmt.Sprintf("uid=%d", o.UID)
	case ObserverByExe:
		return "exe=" + o.Exe
	}
	return "name=" + o.glob
}

// MatchesUID tells whether callers with the uid are meant.
func (o ObserverSpec) MatchesUID(uid uint32) bool { return o.By == ObserverByUID && o.UID == uid }

// MatchesName tells whether the program is meant. A name that is longer than the kernel keeps counts as cut.
func (o ObserverSpec) MatchesName(program string) bool {
	if o.By != ObserverByName {
		return false
	}
	name := taskName(program)
	for i := range o.names {
		if o.names[i].matches(name) {
			return true
		}
	}
	return false
}

// SeesClaimed tells whether the observer sees claimed items too. A name does not give that: anybody can take it.
func (o ObserverSpec) SeesClaimed() bool { return o.By != ObserverByName }
