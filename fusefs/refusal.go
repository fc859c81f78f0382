package fusefs

import (
	"fmt"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// attempt is a call that is refused.
type attempt struct {
	by         *protocol.Party
	verb, path string // what it wanted of what
	below      string // of a folder: what lies in it and is in the way. The caller may not know of it
}

// verbs are what calls want, for people.
var verbs = map[protocol.Op]string{protocol.OpOpen: "open", protocol.OpCreate: "create", protocol.OpUnlink: "remove",
	protocol.OpApproach: "open", protocol.OpRename: "rename", protocol.OpLink: "link", protocol.OpTake: "make", protocol.OpLock: "lock", protocol.OpPayload: "write",
	protocol.OpOrderRelease: "release", protocol.OpOrderRequeue: "requeue", protocol.OpOrderDiscard: "discard", protocol.OpOrderPublish: "publish"}

// advice is what to do where the refusal itself knows nothing better.
var advice = map[protocol.Reason]string{
	protocol.NotYours:     "wait until it is settled or given back",
	protocol.Busy:         "try again when that is over",
	protocol.Exists:       "take another name",
	protocol.Fenced:       "close it and open the file anew",
	protocol.WriteFailed:  "write it anew",
	protocol.BaseGone:     "read the file again and write it anew; what was written is in quarantine",
	protocol.OtherKind:    "copy it",
	protocol.Reserved:     "the name belongs to airlockfs: take another one",
	protocol.HiddenBelow:  "wait until it is settled",
	protocol.NotPermitted: "the folder's owner, the mount's owner or root may",
	protocol.Invalid:      "see docs/protocol.md",
	protocol.WouldWait:    "open it without O_NONBLOCK",
	protocol.Ending:       "try again when it is mounted anew; what is under way may finish",
}

// sayRefusedLocked tells of a decision that refuses something.
func (d *desk) sayRefusedLocked(c *call, r *protocol.Refusal, w *protocol.World) {
	if r.Reason == protocol.NotFound && r.WhatNow == "" || r.Reason == protocol.Stale {
		return
	}
	path := d.pathLocked(w.File.Name)
	if w.Target != nil && c.Op == protocol.OpRename {
		path += " → " + d.pathLocked(w.Target.Name)
	}
	_ = d.refuseLocked(attempt{by: c.By, verb: verbs[c.Op], path: path}, r)
}

// refuseLocked tells who was refused what, whom he met, since when, and what to do. It gives the refusal as an error.
func (d *desk) refuseLocked(a attempt, r *protocol.Refusal) error {
	met := d.Callers.Party(r.By)
	full, discreet := refusal(*r, called(met)), refusal(*r, called(met))
	if c := r.Came; met == nil && c != nil && c.Name != "" {
		full, discreet = refusal(*r, c.Name), refusal(*r, c.Name)
	}
	if d.anotherUser(a.by, met, r.Came) {
		discreet = refusal(*r, "another user")
	}
	if a.below != "" {
		full += ": " + a.below
	}
	d.Log.Info("refused", "path", a.path, "who", called(a.by), "what", a.verb, "why", full)
	d.events.add(said{report.Event{Time: d.Now(), Item: uint64(r.Item), Path: a.path, What: "refused", By: owner(a.by), Detail: a.verb + ": " + full},
		nobody, a.verb + ": " + discreet})
	return refused{r}
}

// refuseHandleLocked is refuseLocked for a call by descriptor. A program may go on to read or write for long: it is told once.
func (d *desk) refuseHandleLocked(h *handle, verb string, r *protocol.Refusal) error {
	if h.refused.Swap(true) {
		return refused{r}
	}
	r.Item = protocol.ItemID(h.node.id)
	return d.refuseLocked(attempt{by: h.party, verb: verb, path: d.pathLocked(h.node.bytes.item.Name)}, r)
}

// refuseFenced refuses a call by a descriptor whose claim has ended.
func (d *desk) refuseFenced(h *handle, verb string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refuseHandleLocked(h, verb, &protocol.Refusal{Reason: protocol.Fenced})
}

// refusal is a sentence: why, whom the call met, since when, and what to do.
func refusal(r protocol.Refusal, whom string) string {
	if r.WhatNow == "" {
		r.WhatNow = advice[r.Reason]
	}
	text := r.Reason.String()
	switch {
	case r.By != 0:
		text = fmt.Sprintf("%s: met the %s of %s since %s", text, r.Kind, whom, r.Since.Format(time.TimeOnly))
	case r.Kind != "":
		text = fmt.Sprintf("%s: met a %s since %s", text, r.Kind, r.Since.Format(time.TimeOnly))
	}
	return text + "; " + r.WhatNow
}
