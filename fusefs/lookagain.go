package fusefs

import (
	"errors"
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// tried is an open that was decided about: whose thread it is, which name it looked up, and which one that is now.
type tried struct {
	tid        uint32
	asked, key protocol.NameKey
	sent       *redirect // it was sent to look again before
}

// lookAgainLocked sends a thread whose name means something else by now, or by the decision, back to look at it: ESTALE. Else
// it gives the decision's error.
func (d *desk) lookAgainLocked(n *node, c *call, t tried, dec protocol.Decision, err error) error {
	switch {
	case stale(err) && t.sent != nil && t.sent.key == t.key:
		return d.staleAgainLocked(t.sent, c)
	case stale(err), lost(err) && c.Open.Write && t.asked == t.key && t.sent == nil, err == nil && dec.Access == protocol.AccessRedirect:
		d.freeAliasLocked(t.asked, n)
		d.redirectLocked(t.tid, t.key, c, dec)
		return syscall.ESTALE
	}
	return err
}

// lost: what the caller has just looked up is another's by now, as a parked temp file that two would resume. Who may make the
// name is to look again and make it.
func lost(err error) bool {
	var r refused
	return errors.As(err, &r) && r.Reason == protocol.NotFound
}

// knows: the call was refused the same before, and that was told.
func (c *call) knows(r *protocol.Refusal) bool {
	var b refused
	return errors.As(c.before, &b) && b.Reason == r.Reason && b.Item == r.Item && b.By == r.By
}

// staleAgainLocked: the kernel looks again once, and what it found then has gone as well. Its caller is told what it was refused
// then.
func (d *desk) staleAgainLocked(r *redirect, c *call) error {
	if r.refused != nil && !stale(r.refused) {
		return r.refused
	}
	return d.refuseLocked(attempt{by: c.By, verb: "open", path: d.pathLocked(r.key)},
		&protocol.Refusal{Reason: protocol.Busy, WhatNow: "others replace it all the time: try again"})
}
