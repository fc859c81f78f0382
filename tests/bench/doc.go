// Command bench measures what a hand-off through airlockfs costs, beside the
// same work done natively, through bindfs and through a go-fuse loopback.
//
// Configurations take turns within every round, so that a disturbance of the
// machine meets all of them; a ratio is computed inside one round and reported
// as the median over the rounds with its spread. Every work is done by child
// processes in sessions of their own: who produces is a stranger to who
// consumes, as airlockfs distinguishes them. The backing lies on a tmpfs.
//
// A table for people goes to standard output, progress to standard error and
// the figures to a JSON file. Missing a target is a result; only what could not
// be measured makes the exit status non-zero. Every phase has a deadline, and
// neither a deadline nor an interrupt leaves a mount, a process or a file.
//
// Reading order: budget.go (what is measured, against which target), phase.go,
// stage.go (sites and rounds), then one file per work: handoff.go, fresh.go,
// bulk.go, listing.go, appending.go, claimants.go, locking.go.
package main
