package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleSwitch is one of the switches that a rule may set.
type ruleSwitch struct {
	name    string
	usage   string // what to write
	classes []Class
	pending bool // accepted, but has no effect yet
	// set stores the value and tells whether it is one of the allowed ones. Without `=` the value is "".
	set func(r *Rule, value string) bool
}

var (
	handedOver = []Class{ClassQueue, ClassWork}
	versioned  = []Class{ClassShared, ClassSerial}
	stagedIn   = slices.Concat(handedOver, versioned)
	settledIn  = []Class{ClassArchive, ClassPlain}
)

var ruleSwitches = []ruleSwitch{
	{name: "publish", usage: "publish=close, publish=exit, publish=rename or publish=quiet=DURATION, such as publish=quiet=5s", classes: stagedIn, set: setPublish},
	{name: "on-collision", usage: oneOf("on-collision", collisionNames[:]...), classes: handedOver, set: setCollision},
	{name: "nonzero-exit", usage: oneOf("nonzero-exit", "publish", "quarantine"), classes: stagedIn, set: setNonzeroExit},
	{name: "outcome", usage: oneOf("outcome", outcomeNames[:]...), classes: settledIn, set: setOutcome},

	{name: "gate", usage: oneOf("gate", "manifest", "set"), classes: handedOver, pending: true, set: among("manifest", "set")},
	{name: "marker", usage: "marker=NAME", classes: handedOver, pending: true, set: isName},
	{name: "manifest", usage: "manifest=generate", classes: handedOver, pending: true, set: among("generate")},
	{name: "claim", usage: "claim=folder", classes: handedOver, pending: true, set: among("folder")},
	{name: "dedup", usage: oneOf("dedup", "key", "content"), classes: handedOver, pending: true, set: among("key", "content")},
	{name: "empty-replace", usage: "empty-replace=refuse", classes: versioned, pending: true, set: among("refuse")},
	{name: "keep-name", usage: "keep-name", classes: versioned, pending: true, set: among("")},
	{name: "keep-versions", usage: "keep-versions=N, with N of at least 1", classes: versioned, pending: true, set: isCount},
	{name: "conflict", usage: "conflict=copy", classes: versioned, pending: true, set: among("copy")},
}

// SwitchNames are the names of all switches.
func SwitchNames() []string {
	var names []string
	for _, s := range ruleSwitches {
		names = append(names, s.name)
	}
	return names
}

func setPublish(r *Rule, value string) bool {
	duration, quiet := strings.CutPrefix(value, "quiet=")
	if !quiet {
		i := slices.Index(publishNames[:PublishQuiet], value)
		r.vector.Publish = Publish(max(i, 0))
		return i >= 0
	}
	d, err := time.ParseDuration(duration)
	r.vector.Publish, r.vector.Quiet = PublishQuiet, d
	return err == nil && d > 0
}

func setCollision(r *Rule, value string) bool {
	i := slices.Index(collisionNames[:], value)
	r.vector.OnCollision = Collision(max(i, 0))
	return i >= 0
}

func setNonzeroExit(r *Rule, value string) bool {
	r.vector.NonzeroExit = value == "publish"
	return r.vector.NonzeroExit || value == "quarantine"
}

func setOutcome(r *Rule, value string) bool {
	i := slices.Index(outcomeNames[:], value)
	r.vector.Outcome, r.outcomeSet = Outcome(max(i, 0)), true
	return i >= 0
}

func among(allowed ...string) func(*Rule, string) bool {
	return func(_ *Rule, value string) bool { return slices.Contains(allowed, value) }
}

func isName(_ *Rule, value string) bool { return value != "" && !strings.Contains(value, "/") }

func isCount(_ *Rule, value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n > 0
}

func oneOf(name string, values ...string) string {
	return name + "=" + strings.Join(values, " or "+name+"=")
}

func join[T fmt.Stringer](values []T) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, ", ")
}
