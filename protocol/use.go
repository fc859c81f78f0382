package protocol

import "fmt"

// Use is what a call does with bytes of a file of class records.
type Use struct {
	Write bool
	// Cache: the kernel reads them for its page cache, from which everybody reads without asking: by way of a private
	// mapping, sendfile(2) or splice(2).
	Cache       bool
	Start, End  uint64 // the first and the last byte. Start > End: none
	Owner       uint64 // the kernel's id of the caller's POSIX locks; 0 is unknown
	Handle      uint64 // the open file
	By          *Party
	NonBlocking bool // O_NONBLOCK
	Overrides   bool // locks of others than root do not bind the caller
}

// MayUse is the rule of class records: what one party has locked others do not write, and what it has locked for itself
// alone they do not read. It gives the refusal, which names the first lock in the way, or nil. holding says who holds a
// lock: nobody, if it binds nobody.
func (l *Locks) MayUse(u Use, holding func(Lock) Holding) *Refusal {
	if u.Start > u.End {
		return nil
	}
	from, to := l.held.near(u.Start, u.End)
	for _, k := range l.held.locks[from:to] {
		if !u.meets(k) {
			continue
		}
		if h := holding(k); u.boundBy(h) {
			return u.refusal(h)
		}
	}
	return nil
}

// MayEmpty is MayUse for an open with O_TRUNC, which must not take away what anybody has locked, nor what he has
// locked to write it there.
func (l *Locks) MayEmpty(u Use, holding func(Lock) Holding) *Refusal {
	u.Write, u.Start, u.End = true, 0, ToEOF
	return l.MayUse(u, holding)
}

func (u Use) meets(k Lock) bool {
	return k.Start <= u.End && u.Start <= k.End && (k.Mode == WriteLock || u.Write)
}

// boundBy tells whether the lock is not the caller's: neither his process's nor his open file's, nor that of one he is kin
// to. What goes to the page cache goes to everybody.
//
// A POSIX lock is not that of others who have the same open file. An open-file lock is; if it was taken for a POSIX lock
// (see LockKind), it outlives who took it.
func (u Use) boundBy(h Holding) bool {
	switch {
	case u.Cache:
		return len(h.Holders) > 0
	case u.Owner != 0 && h.Owner == u.Owner:
		return false
	case h.Handle == u.Handle && (h.Kind != Posix || len(h.Holders) > 0 && h.Holders[0].ID != h.By):
		return false
	}
	return h.strangers(u.By, u.Overrides)
}

func (u Use) refusal(h Holding) *Refusal {
	r := &Refusal{Reason: Busy, Kind: h.Title(), By: h.Holders[0].ID, Since: h.Since, WhatNow: "lock the bytes yourself, waiting for it, and try again"}
	if u.NonBlocking {
		r.Reason = WouldWait
	}
	if u.Cache {
		r.WhatNow = "read it with read(2): what is mapped, spliced or sent goes through a cache that others read, too"
	}
	return r
}

// Title names a lock for people.
func (k Lock) Title() string {
	mode := map[LockMode]string{ReadLock: "read lock", WriteLock: "write lock"}[k.Mode]
	switch {
	case k.Start == 0 && k.End == ToEOF:
		return mode + " on the whole file"
	case k.End == ToEOF:
		return fmt.Sprintf("%s from byte %d on", mode, k.Start)
	case k.Start == k.End:
		return fmt.Sprintf("%s on byte %d", mode, k.Start)
	}
	return fmt.Sprintf("%s on bytes %d to %d", mode, k.Start, k.End)
}

// Changed is the range of bytes that a new length takes away or adds: as a Use has it, none if nothing changes.
func Changed(length, size int64) (start, end uint64) {
	if length == size {
		return 1, 0
	}
	return uint64(min(length, size)), uint64(max(length, size)) - 1
}
