package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// perOwner is how many descriptors it takes to watch a party for its end.
const perOwner = 2

// roomLocked refuses an open when programs keep as many descriptors of ours as they may, or those of the caller's user half
// of that, before it has changed anything. Closes, renames, removals and looks go on with those that are kept back.
func (d *desk) roomLocked(c *call, key protocol.NameKey) error {
	uid := c.By.Process.UID
	if d.Descriptors == 0 || !d.tooMuch(uid, d.shares[uid].descriptors(), d.shared.descriptors(), d.Descriptors) {
		return nil
	}
	r := &protocol.Refusal{Reason: protocol.NoRoom,
		WhatNow: "files must be closed, or airlockfs be allowed to have more open (LimitNOFILE= in its unit, ulimit -n)"}
	return d.refuseLocked(attempt{by: c.By, verb: verbs[c.Op], path: d.pathLocked(key)}, r)
}
