package protocol

// Recover decides what becomes of a private item that a restart finds on the disk. closed: its last writer had closed
// it before. Its owner, if there is one, is alive: whoever calls has set Owner to 0 where the process has ended, and
// nobody knows how. Descriptors do not survive the daemon.
func Recover(w *World, i *Item, closed bool, e *Event) Decision {
	switch i.State {
	case Staged:
		return recoverStaged(i, closed, e)
	case Claimed:
		if i.Owner == 0 {
			return settleClaim(w, i, e.At, Verdict{Kind: Unknown})
		}
	case Held:
		return recoverHeld(w, i, e)
	}
	return Decision{}
}

// Homeless decides about a private item whose folder is gone: it is kept, though nothing says where it would be public.
func Homeless(i *Item, e *Event) Decision {
	if i.State == Quarantined {
		return Decision{}
	}
	x := quarantine(i, e.At)
	x.Next.Taint = i.Taint.Worse(Taint{Kind: TaintExit, Detail: "the folder that it belongs to was not there when the mount began"})
	return effects(x)
}

func recoverStaged(i *Item, closed bool, e *Event) Decision {
	if closed && i.Owner != 0 {
		return Decision{}
	}
	if closed {
		return effects(park(i, e.At))
	}
	x := quarantine(i, e.At)
	if i.Temp() {
		x = abandon(i, e.At)
	}
	x.Next.Taint = i.Taint.Worse(Taint{Kind: TaintKilled, Verdict: Verdict{Kind: Unknown}, Detail: "the mount ended while it was being written"})
	return effects(x)
}

// recoverHeld: what only waited for somebody who is gone, or for a newer item that is gone, need not wait longer.
func recoverHeld(w *World, i *Item, e *Event) Decision {
	lift := false
	switch i.Barrier {
	case BarrierOlder:
		lift = w.File.Public == nil
	case BarrierExit:
		lift = i.Owner == 0
		if lift && exitFails(i, e) {
			q := quarantine(i, e.At)
			q.Next.Taint = i.Taint.Worse(Taint{Kind: TaintExit, Detail: "its writer " + e.Verdict.String() + ": nothing was mounted then"})
			return effects(q)
		}
	case BarrierForeign, BarrierLocked: // locks end with the mount
		lift = true
	}
	switch {
	case !lift:
		return Decision{}
	case i.Taint.Kind != NoTaint:
		return effects(quarantine(i, e.At))
	}
	return publish(w, w.File, i, e)
}
