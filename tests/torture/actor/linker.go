package actor

import (
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// linker publishes parcels and gives them a second name: each name is handed over once.
func linker(a *Actor) int {
	for a.alive() {
		d := &draft{Actor: a, folder: "q/u", parcel: a.next("l")}
		d.file, d.bytes = d.parcel+".dat", a.bytes(d.parcel)
		a.in(d.folder, func(dir int) {
			d.dir = dir
			d.linked()
			a.pause(4 * time.Millisecond)
			a.second(d)
		})
		a.pause(40 * time.Millisecond)
	}
	return 0
}

func (a *Actor) second(d *draft) {
	to := d.parcel + ".second.dat"
	a.say.Say("link", path.Join(d.folder, d.file), path.Join(d.folder, to), d.parcel)
	_ = a.try(func() error { return unix.Linkat(d.dir, d.file, d.dir, to, 0) })
}
