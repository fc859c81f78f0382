package actor

import (
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// draft is a parcel that is being published.
type draft struct {
	*Actor
	dir    int
	folder string
	parcel string
	file   string
	bytes  []byte
}

// styles are the ways of publishing.
var styles = []func(*draft){
	(*draft).renamed, (*draft).renamed, (*draft).closed, (*draft).closed, (*draft).exclusive, (*draft).slow, (*draft).linked, (*draft).renamedOpen,
	(*draft).mapped, (*draft).duplicated,
}

// maker produces in every style, mostly under names that are used once.
func maker(a *Actor) int {
	for a.alive() {
		a.make()
		a.pause(15 * time.Millisecond)
	}
	return 0
}

func (a *Actor) make() {
	d := &draft{Actor: a, folder: "q/u", parcel: a.next("u")}
	style := styles[a.rand.IntN(len(styles))]
	switch a.rand.IntN(8) {
	case 0:
		d.folder = "q/out"
	case 1:
		d.folder, style = "q/ren", (*draft).barrier
	case 2:
		d.folder, d.parcel = a.someFolder(), "h"+d.parcel[1:] // its path may change
	}
	d.file, d.bytes = d.parcel+".dat", a.bytes(d.parcel)
	a.in(d.folder, func(dir int) {
		d.dir = dir
		style(d)
	})
}

func (d *draft) publish() { d.say.Say("publish", path.Join(d.folder, d.file), d.parcel) }

// write writes a new file in pieces, with pauses if it is slow. It is left open.
func (d *draft) write(name string, flags, pieces int, slow time.Duration) (int, error) {
	fd, err := openAt(d.dir, name, flags)
	if err != nil {
		return fd, err
	}
	for n := range pieces {
		from, to := len(d.bytes)*n/pieces, len(d.bytes)*(n+1)/pieces
		if err := writeAll(fd, d.bytes[from:to]); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		d.pause(slow)
	}
	return fd, nil
}

// temp writes and closes a temp file.
func (d *draft) temp(name string) bool {
	fd, err := d.write(name, fresh, 1+d.rand.IntN(3), 0)
	return err == nil && unix.Close(fd) == nil
}

func (d *draft) renamed() {
	if d.temp(d.file + ".tmp") {
		d.publish()
		_ = d.try(rename(d.dir, d.file+".tmp", d.file))
	}
}

// barrier: a closed file of the folder ren waits until it is renamed.
func (d *draft) barrier() {
	if d.temp(d.parcel + ".raw") {
		d.publish()
		_ = d.try(rename(d.dir, d.parcel+".raw", d.file))
	}
}

func (d *draft) closed()    { d.close(d.write(d.file, fresh, 1+d.rand.IntN(3), 0)) }
func (d *draft) exclusive() { d.close(d.write(d.file, unique, 1, 0)) }
func (d *draft) slow()      { d.close(d.write(d.file, fresh, 4, 60*time.Millisecond)) }

// close publishes what was written without a failure.
func (d *draft) close(fd int, err error) {
	if err == nil {
		d.publish()
		_ = d.try(func() error { return unix.Close(fd) })
	}
}

func (d *draft) linked() {
	temp := d.file + ".tmp"
	if d.temp(temp) {
		d.publish()
		_ = d.try(func() error { return unix.Linkat(d.dir, temp, d.dir, d.file, 0) })
		_ = unix.Unlinkat(d.dir, temp, 0)
	}
}

// renamedOpen renames before the last byte is written: the name appears at the close.
func (d *draft) renamedOpen() {
	fd, err := openAt(d.dir, d.file+".tmp", fresh)
	if err != nil {
		return
	}
	half := len(d.bytes) / 2
	if err = writeAll(fd, d.bytes[:half]); err == nil {
		err = unix.Renameat(d.dir, d.file+".tmp", d.dir, d.file)
	}
	if err == nil {
		err = writeAll(fd, d.bytes[half:])
	}
	if err != nil {
		d.say.Say("doomed", d.parcel, "it was never whole")
		_ = unix.Close(fd)
		return
	}
	d.close(fd, nil)
}

// mapped writes through a shared mapping.
func (d *draft) mapped() {
	fd, err := openAt(d.dir, d.file, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return
	}
	if err = unix.Fallocate(fd, 0, 0, int64(len(d.bytes))); err != nil { // a full disk would be a SIGBUS
		d.say.Say("doomed", d.parcel, "there was no room for it")
		_ = unix.Close(fd)
		return
	}
	m, err := unix.Mmap(fd, 0, len(d.bytes), unix.PROT_WRITE|unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		d.close(fd, d.writeInstead(fd))
		return
	}
	copy(m, d.bytes)
	d.say.Say("mapped", d.parcel)
	d.publish() // whichever of the two is the last
	err = unix.Munmap(m)
	if e := unix.Close(fd); err == nil {
		err = e
	}
	d.outcome(err)
}

func (d *draft) writeInstead(fd int) error {
	err := writeAll(fd, d.bytes)
	if err != nil {
		_ = unix.Close(fd)
	}
	return err
}

// duplicated closes one of two descriptors in the middle.
func (d *draft) duplicated() {
	fd, err := openAt(d.dir, d.file, fresh)
	if err != nil {
		return
	}
	second, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(fd)
		return
	}
	half := len(d.bytes) / 2
	err = writeAll(fd, d.bytes[:half])
	_ = unix.Close(fd)
	if err == nil {
		d.pause(10 * time.Millisecond)
		err = writeAll(second, d.bytes[half:])
	}
	if err != nil {
		d.say.Say("doomed", d.parcel, "a write failed")
		_ = unix.Close(second)
		return
	}
	d.close(second, nil)
}
