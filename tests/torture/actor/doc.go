// Package actor is who takes part in a torture run: each actor is a process in a session of its own that knows only a
// path and works on it as programs do, until its time is over or it is killed. It writes each step down (package journal).
//
// makers.go, shell-maker.sh, maker.py produce parcels in every way of publishing; breaker.go has children that fail while
// they write; editor.go overwrites and appends; taker.go, shell-taker.sh, taker.py claim and settle, or fail to; linker.go,
// locker.go, mover.go (folders), watcher.go (observers) and operator.go (orders) disturb them.
//
// All names below the folder q:
//
//	u      parcels under names that are used once, u-ACTOR-N.dat, so that even a look at such a name says something
//	out    where some of them are passed on to
//	hot    a few names that everybody overwrites and appends to
//	dirs   folders that are renamed, made and removed
//	exit   publish=exit        ren    publish=rename
//	work   class work          done   class archive          locks  lock files
package actor
