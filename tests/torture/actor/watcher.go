package actor

import (
	"archive/tar"
	"bytes"
	"io"
	"os/exec"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

// Looker begins the names of the programs that observe: the mount is told so.
const Looker = "looker"

// watcher looks: by stat, by reading as an observer, by ls, find and tar. Nothing it sees may be unfinished.
func watcher(a *Actor) int {
	for a.alive() {
		folder := []string{"q/u", "q/u", "q/out", "q/hot"}[a.rand.IntN(4)]
		a.in(folder, func(dir int) {
			names := a.list(dir)
			a.hidden(folder, names)
			for _, name := range names[:min(len(names), 4)] {
				a.look(dir, path.Join(folder, name))
				a.watch(dir, path.Join(folder, name))
			}
		})
		if a.one(6) {
			a.walk()
		}
		a.pause(40 * time.Millisecond)
	}
	return 0
}

// hidden: temp names are nobody's but their owners'.
func (a *Actor) hidden(folder string, names []string) {
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".raw") {
			a.say.Say("look", path.Join(folder, name))
			a.say.Say("torn", "it is listed, and unfinished")
		}
	}
}

func (a *Actor) look(dir int, file string) {
	var st unix.Stat_t
	a.say.Say("look", file)
	_ = a.try(func() error { return unix.Fstatat(dir, path.Base(file), &st, unix.AT_SYMLINK_NOFOLLOW) })
}

func (a *Actor) watch(dir int, file string) {
	a.say.Say("watch", file)
	fd, err := openAt(dir, path.Base(file), unix.O_RDONLY)
	if err != nil {
		a.outcome(err)
		return
	}
	b, err := readAll(fd)
	_ = unix.Close(fd)
	if err != nil {
		a.outcome(err)
		return
	}
	a.seen(b)
}

func (a *Actor) seen(b []byte) {
	names, err := parcel.Parse(b)
	if err != nil {
		a.say.Say("torn", err.Error())
		return
	}
	a.say.Say("ok", names...)
}

// walk has programs look that people and backups use. What they say of files that went meanwhile is no matter.
func (a *Actor) walk() {
	switch q := path.Join(a.Root, "q"); a.rand.IntN(3) {
	case 0:
		_ = exec.Command("ls", "-laR", q).Run()
	case 1:
		_ = exec.Command("find", q, "-type", "f", "-newermt", "2000-01-01", "-size", "+0").Run()
	default:
		a.tar(q)
	}
}

// tar is a backup. Only one that met no error is judged: after a read error tar fills up with zeros.
func (a *Actor) tar(q string) {
	out, err := exec.Command(path.Join(a.Side, Looker+"-tar"), "cf", "-", "-C", q, "u", "out").Output()
	if err != nil {
		return
	}
	for files := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := files.Next()
		if err != nil {
			return
		}
		if h.Typeflag != tar.TypeReg {
			continue // a folder, or a second name
		}
		b, err := io.ReadAll(files)
		if err != nil {
			return
		}
		a.say.Say("watch", path.Join("q", h.Name))
		a.seen(b)
	}
}
