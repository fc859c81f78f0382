package actor

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// finish ends a claim in one of many ways.
func (a *Actor) finish(c *claim) {
	switch a.rand.IntN(12) {
	case 0:
		a.archive(c)
	case 1:
		a.passOn(c)
	case 2:
		return // kept to the end, and then given back
	case 3:
		a.in(c.dir, func(dir int) { a.read(dir, c) }) // as if it was not sure
		fallthrough
	default:
		a.remove(c)
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
	if a.rand.IntN(60) == 0 {
		die(unix.SIGKILL)
	}
}

func (a *Actor) remove(c *claim) {
	a.in(c.dir, func(dir int) {
		a.say.Say("settle", append([]string{c.path()}, c.parcels...)...)
		_ = a.try(func() error { return unix.Unlinkat(dir, c.name, 0) })
	})
}

// archive settles by moving to where work ends.
func (a *Actor) archive(c *claim) {
	a.moves("archive", c, "q/done", c.name+"."+a.ID)
}

// passOn moves a parcel that has a name of its own to another queue folder.
func (a *Actor) passOn(c *claim) {
	if !strings.HasPrefix(c.name, "u-") || c.dir == "q/out" {
		a.remove(c)
		return
	}
	name, _, _ := strings.Cut(c.name, ".")
	a.moves("pass", c, "q/out", name+".dat")
}

func (a *Actor) moves(verb string, c *claim, folder, name string) {
	a.in(c.dir, func(dir int) {
		a.in(folder, func(to int) {
			a.say.Say(verb, append([]string{c.path(), path.Join(folder, name)}, c.parcels...)...)
			_ = a.try(func() error { return unix.Renameat(dir, c.name, to, name) })
		})
	})
}
