package actor

import (
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// lockCalls are the kinds of locks, each with files of its own: they don't see each other.
var lockCalls = []struct {
	file string
	lock func(fd int) error
}{
	{"a.flock.lock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) }},
	{"b.flock.lock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }},
	{"c.posix.lock", func(fd int) error { return fcntlLock(fd, unix.F_SETLKW) }},
	{"d.ofd.lock", func(fd int) error { return fcntlLock(fd, unix.F_OFD_SETLK) }},
}

func fcntlLock(fd, call int) error {
	return unix.FcntlFlock(uintptr(fd), call, &unix.Flock_t{Type: unix.F_WRLCK})
}

// locker locks files, holds them for a moment, and lets go by unlocking, by closing or by its end.
func locker(a *Actor) int {
	for a.alive() {
		a.in("q/locks", func(dir int) {
			l := lockCalls[a.rand.IntN(len(lockCalls))]
			if fd, err := openAt(dir, l.file, unix.O_RDWR|unix.O_CREAT); err == nil {
				a.lock(fd, path.Join("q/locks", l.file), l.lock)
			}
		})
		a.pause(20 * time.Millisecond)
	}
	return 0
}

func (a *Actor) lock(fd int, file string, lock func(int) error) {
	a.say.Say("lock", file)
	if a.try(func() error { return lock(fd) }) == nil {
		a.pause(15 * time.Millisecond)
	}
	if a.rand.IntN(80) == 0 {
		die(unix.SIGKILL)
	}
	a.say.Say("unlock", file)
	_ = a.try(func() error { return unix.Close(fd) })
}
