// Package protocol is the hand-off protocol itself: which version of a file a caller sees, who may take it, when it
// becomes public, and what happens to it when somebody ends. It is pure: no I/O, no clock, no goroutine, no errno.
//
// The unit of decision is the File, a name in a folder, with the Items (versions of its bytes) that stand behind it.
// Decide looks at one Event and the one or two Files it touches and answers with a Decision: a Refusal, or Effects.
// An Effect is at most one change on the disk; Apply makes the same change in memory. So whoever carries Effects out
// (first the disk, then Apply) is always in a state that the disk can be read back into.
//
//	           create                last clean close, rename, link
//	nothing ───────────▶ Staged ─────────────────────────────────▶ Public ◀──────────────┐
//	                       │ │           ▲   barriers lifted          │ open for reading  │ owner ended,
//	     owner ended well, │ │ closed,   │                            ▼                   │ released
//	     no heir           │ └─────────▶ Held                      Claimed ───────────────┘
//	                       ▼             ▲ newer one public          │  unlink, rename out
//	                    Parked           └──── (older) ──────────────┤
//	owner killed ▶ Abandoned, or Quarantined (final name)            ▼
//	                                                               Gone
package protocol
