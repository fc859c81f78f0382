package actor

import (
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

// claim is what a taker holds.
type claim struct {
	dir     string // its folder, and its name there
	name    string
	fd      int // -1: closed
	parcels []string
}

func (c *claim) path() string { return path.Join(c.dir, c.name) }

// taker claims, keeps for a while, and settles, passes on or fails.
func taker(a *Actor) int {
	var kept []*claim
	eager := !a.one(3)
	for a.alive() {
		folder := a.source()
		a.in(folder, func(dir int) {
			names := a.list(dir)
			if eager {
				slices.Sort(names) // all such takers want the same
			}
			for _, name := range names[:min(len(names), 3)] {
				if !strings.Contains(name, ".dat") {
					continue // a folder
				}
				mine := func(c *claim) bool { return c.dir == folder && c.name == name }
				if c := a.take(dir, folder, name); c != nil {
					kept = append(slices.DeleteFunc(kept, mine), c) // it may take what it has
				}
			}
		})
		for len(kept) > a.rand.IntN(4) {
			a.finish(kept[0])
			kept = kept[1:]
		}
		a.pause(10 * time.Millisecond)
	}
	return a.leave(kept)
}

// leave ends with claims that are not settled, in one way or another.
func (a *Actor) leave(kept []*claim) int {
	switch a.rand.IntN(3) {
	case 0:
		for _, c := range kept {
			a.finish(c)
		}
	case 1:
		return 3
	}
	return 0
}

// source is where to take from next.
func (a *Actor) source() string {
	switch a.rand.IntN(9) {
	case 0:
		return a.someFolder()
	case 1, 2:
		return "q/hot"
	case 3:
		return "q/out"
	case 4:
		return "q/work"
	case 5:
		return []string{"q/exit", "q/ren"}[a.rand.IntN(2)]
	}
	return "q/u"
}

// take claims by opening, or by renaming to a work folder or a temp name, and reads.
func (a *Actor) take(dir int, folder, name string) *claim {
	c := &claim{dir: folder, name: name, fd: -1}
	switch own := strings.HasPrefix(name, "u-"); {
	case own && folder == "q/u" && a.one(4):
		if !a.moved(dir, c, "q/work", name) {
			return nil
		}
	case own && folder != "q/work" && a.one(6):
		if !a.moved(dir, c, folder, name+".tmp") {
			return nil
		}
	}
	if a.rand.IntN(25) == 0 {
		die(unix.SIGKILL)
	}
	if !a.read(dir, c) {
		return nil
	}
	if a.one(6) {
		a.read(dir, c) // its own claim is open to it
	}
	if c.fd >= 0 && a.one(2) {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
	a.pause(25 * time.Millisecond)
	return c
}

// moved takes by a rename.
func (a *Actor) moved(dir int, c *claim, folder, name string) bool {
	err := errNoMount
	a.in(folder, func(to int) {
		a.say.Say("take", c.path(), path.Join(folder, name))
		err = a.try(func() error { return unix.Renameat(dir, c.name, to, name) })
	})
	c.dir, c.name = folder, name
	return err == nil
}

// read opens and reads the whole file: that is the claim.
func (a *Actor) read(dir int, c *claim) bool {
	a.say.Say("claim", c.path())
	fd, err := a.openIn(dir, c)
	if err != nil {
		a.outcome(err)
		return false
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
	}
	c.fd = fd
	b, err := readAll(fd)
	if err != nil {
		a.say.Say("unsure", name(err))
		_ = unix.Close(fd)
		return false
	}
	if c.parcels, err = parcel.Parse(b); err != nil {
		a.say.Say("torn", err.Error())
		return false
	}
	a.say.Say("ok", c.parcels...)
	return true
}

// openIn opens a claim's file, in the folder that is open or where it was moved to.
func (a *Actor) openIn(dir int, c *claim) (fd int, err error) {
	if c.dir != "q/work" {
		return openAt(dir, c.name, unix.O_RDONLY)
	}
	err = errNoMount
	a.in(c.dir, func(work int) { fd, err = openAt(work, c.name, unix.O_RDONLY) })
	return fd, err
}

// errNoMount: nothing was asked.
var errNoMount error = unix.ENODEV
