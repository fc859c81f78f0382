package protocol

import (
	"encoding/json"
	"time"
)

// Note is what an item's place can't say. It travels with the inode (docs/format.md) and is written only when there is
// something to say.
type Note struct {
	Attempts  int       `json:"attempts,omitempty"`
	Uncounted bool      `json:"uncounted,omitempty"`
	Home      string    `json:"home,omitempty"` // folder key, '/', name: where a claim goes back to, if not to its own name
	Taint     string    `json:"taint,omitempty"`
	Detail    string    `json:"detail,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // in quarantine: when it got there
	Closed    bool      `json:"closed,omitempty"` // of a temp file: its last writer closed it
	Ghost     bool      `json:"ghost,omitempty"`  // made to be locked: of class lock by behaviour
	Class     string    `json:"class,omitempty"`  // of a file whose maker's behaviour decided, not its name
	Until     time.Time `json:"until,omitzero"`   // barrier quiet: when it lifts
	Shown     bool      `json:"shown,omitempty"`  // of a state file under a temp name: it has been current, and stays visible
	Former    string    `json:"former,omitempty"` // the processes whose claims on it were taken away (Line.String), separated by spaces
}

// Encode writes the note, nil if it has nothing to say.
func (n Note) Encode() []byte {
	if n == (Note{}) {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // a struct of strings and numbers always encodes
	}
	return b
}

// DecodeNote reads a note; an unreadable one is an error, and an empty Note.
func DecodeNote(b []byte) (Note, error) {
	var n Note
	if len(b) == 0 {
		return n, nil
	}
	err := json.Unmarshal(b, &n)
	if err != nil {
		return Note{}, err
	}
	return n, nil
}

// As is the match of a name whose file is of another class than its name says, because of its maker's behaviour.
func (m Match) As(class string) Match {
	c, err := ParseClass(class)
	if err != nil {
		return m
	}
	as := m.as(c, "by the way it was created")
	as.Unlisted = c == ClassLock
	return as
}

// ParseTaint is the inverse of TaintKind.String.
func ParseTaint(s string) TaintKind {
	for i, n := range taintNames {
		if n == s {
			return TaintKind(i)
		}
	}
	return NoTaint
}
