package actor

import (
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hotNames is how many names editors fight for.
const hotNames = 5

// editor overwrites and appends to a few names that are public, claimed or gone.
func editor(a *Actor) int {
	ways := []func(*draft){(*draft).renamed, (*draft).closed, (*draft).slow, (*draft).appended, (*draft).appended, (*draft).appended}
	for a.alive() {
		d := &draft{Actor: a, folder: "q/hot", parcel: a.next("h"), file: "h" + strconv.Itoa(a.rand.IntN(hotNames)) + ".dat"}
		d.bytes = a.bytes(d.parcel)
		way := ways[a.rand.IntN(len(ways))]
		a.in(d.folder, func(dir int) {
			d.dir = dir
			way(d)
		})
		a.pause(25 * time.Millisecond)
	}
	return 0
}

// appended adds a parcel to what is there: the version that comes of it holds both.
func (d *draft) appended() {
	d.close(d.write(d.file, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 1+d.rand.IntN(2), 5*time.Millisecond))
}

// someFolder is one of those that come and go.
func (a *Actor) someFolder() string {
	folder := "q/dirs"
	a.in(folder, func(dir int) {
		for _, name := range a.list(dir) {
			folder = path.Join("q/dirs", name)
			return
		}
	})
	return folder
}
