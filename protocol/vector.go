package protocol

import (
	"fmt"
	"time"
)

// Vector is what a name is: its class and the switches of the rule that applies to it. The zero value is the default,
// an ordinary queue. Switches that mean nothing for the class are zero.
type Vector struct {
	Class       Class
	Publish     Publish
	OnCollision Collision
	Outcome     Outcome
	NonzeroExit bool          // publish what a writer left that ended with a status other than 0
	Quiet       time.Duration // how long nothing may change before PublishQuiet publishes, else 0
}

// vectorOf gives a class with its default switches.
func vectorOf(c Class) Vector {
	v := Vector{Class: c}
	if c == ClassArchive {
		v.OnCollision = CollideKeepBoth
	}
	return v
}

// String writes the vector as a rule would, with every switch that the class has.
func (v Vector) String() string {
	switch {
	case v.Class.named():
		return fmt.Sprintf("%s,publish=%s,on-collision=%s,nonzero-exit=%s", v.Class, v.publish(), v.OnCollision, v.nonzeroExit())
	case v.Class == ClassArchive || v.Class == ClassPlain:
		return fmt.Sprintf("%s,outcome=%s", v.Class, v.Outcome)
	}
	return v.Class.String()
}

func (v Vector) publish() string {
	if v.Publish == PublishQuiet {
		return "quiet=" + v.Quiet.String()
	}
	return v.Publish.String()
}

func (v Vector) nonzeroExit() string {
	if v.NonzeroExit {
		return "publish"
	}
	return "quarantine"
}

// Publish is the event that makes an item public, beyond the last clean close that every item needs (section 4).
type Publish uint8

const (
	PublishClose  Publish = iota // the last clean close itself
	PublishExit                  // the writing process ended with 0
	PublishRename                // an explicit rename or link
	PublishQuiet                 // Vector.Quiet passed since the last close that changed bytes
)

var publishNames = [...]string{"close", "exit", "rename", "quiet"}

func (p Publish) String() string { return nameOf(publishNames[:], uint8(p)) }

// Collision says what happens to an item that becomes public under a name that is taken.
type Collision uint8

const (
	CollideReplace  Collision = iota // the newer one has the name, the older one is kept for a while
	CollideKeepBoth                  // both are handed over
	CollideRefuse                    // the newer one is refused
)

var collisionNames = [...]string{"replace", "keep-both", "refuse"}

func (c Collision) String() string { return nameOf(collisionNames[:], uint8(c)) }

// Outcome says how an item is settled that its claimant moves to an archive or plain folder.
type Outcome uint8

const (
	OutcomeDone Outcome = iota
	OutcomeFailed
)

var outcomeNames = [...]string{"done", "failed"}

func (o Outcome) String() string { return nameOf(outcomeNames[:], uint8(o)) }

func nameOf(names []string, value uint8) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("unknown(%d)", value)
}
