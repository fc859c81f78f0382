package actor

import (
	"fmt"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// mostFolders is how many folders that come and go there are at a time.
const mostFolders = 6

// mover makes, renames and removes folders, with parcels in them or not. That it is refused is as good.
func mover(a *Actor) int {
	for n := 0; a.alive(); n++ {
		a.in("q/dirs", func(dir int) {
			names := a.list(dir)
			fresh := fmt.Sprintf("d%s-%d", a.ID, n)
			switch {
			case len(names) < 2 || len(names) < mostFolders && a.one(4):
				if unix.Mkdirat(dir, fresh, 0o755) == nil {
					a.fill(path.Join("q/dirs", fresh))
				}
			case a.one(2):
				_ = unix.Renameat(dir, names[0], dir, fresh)
			default:
				_ = unix.Unlinkat(dir, names[0], unix.AT_REMOVEDIR)
			}
		})
		a.pause(50 * time.Millisecond)
	}
	return 0
}

func (a *Actor) fill(folder string) {
	d := &draft{Actor: a, folder: folder, parcel: a.next("h")}
	d.file, d.bytes = d.parcel+".dat", a.bytes(d.parcel)
	a.in(folder, func(dir int) {
		d.dir = dir
		d.renamed()
	})
}
