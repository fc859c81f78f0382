package tests

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// What names are, and what calls that change them answer.

// things makes one of each kind under a name of its own.
func (s *scene) things() []string {
	s.file("file", "content")
	s.must(os.Mkdir("empty", 0o755))
	s.must(os.MkdirAll("full/below", 0o755))
	s.must(os.Symlink("file", "link"))
	s.must(os.Symlink("nowhere", "dangling"))
	s.must(os.Symlink("empty", "dirlink"))
	s.must(unix.Mkfifo("fifo", 0o644))
	return []string{"file", "empty", "full", "link", "dangling", "dirlink", "fifo", "absent"}
}

// afresh is do in a folder of its own with one of each kind.
func (s *scene) afresh(name string, do func()) {
	s.must(os.Mkdir(name, 0o755))
	s.must(os.Chdir(name))
	s.things()
	do()
	s.must(os.Chdir(".."))
}

var kinds = []string{"file", "empty", "full", "link", "dangling", "dirlink", "fifo", "absent"}

func init() {
	scenes["rename-every-kind-over-every-other"] = func(s *scene) {
		for _, from := range kinds {
			for _, to := range append([]string{"absent2"}, kinds...) {
				s.afresh(from+"-"+to, func() {
					s.try("rename "+from+" "+to, unix.Rename(from, to))
					s.stat(from)
					s.stat(to)
				})
			}
		}
	}
	scenes["rename-noreplace-and-exchange"] = func(s *scene) {
		for _, flags := range []uint{unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE} {
			for _, from := range kinds {
				for _, to := range append([]string{"absent2"}, kinds...) {
					s.afresh(fmt.Sprint(flags, from, "-", to), func() {
						s.try(fmt.Sprint("renameat2 ", from, " ", to, " ", flags), unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags))
						s.stat(from)
						s.stat(to)
					})
				}
			}
		}
	}
	scenes["rename-refuses-what-makes-no-sense"] = func(s *scene) {
		s.things()
		s.try("a folder into itself", unix.Rename("full", "full/below/full"))
		s.try("onto its own parent", unix.Rename("full/below", "full"))
		s.try("of .", unix.Rename(".", "dot"))
		s.try("onto ..", unix.Rename("file", "full/.."))
		s.try("file with a slash", unix.Rename("file/", "other"))
		s.try("onto a name with a slash", unix.Rename("file", "other/"))
		s.try("folder onto a name with a slash", unix.Rename("empty", "other/"))
		s.try("both flags", unix.Renameat2(unix.AT_FDCWD, "file", unix.AT_FDCWD, "fifo", unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE))
		s.try("to another filesystem", unix.Rename("file", "/proc/file"))
		s.tree()
	}
	scenes["rename-of-two-names-of-one-file-does-nothing"] = func(s *scene) {
		s.file("a", "x")
		s.must(os.Link("a", "b"))
		s.try("rename", unix.Rename("a", "b"))
		s.try("exchange", unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_EXCHANGE))
		s.tree()
	}
	scenes["rename-over-one-of-two-names"] = func(s *scene) {
		s.file("a", "two names")
		s.must(os.Link("a", "b"))
		s.file("c", "one")
		s.must(os.Mkdir("d", 0o755))
		fd := s.open("b", unix.O_RDONLY)
		s.try("rename", unix.Rename("c", "a"))
		s.fd("open", fd)
		s.tree()
		s.try("rename the other", unix.Rename("b", "d/b"))
		s.tree()
	}
	scenes["a-symlink-over-one-of-two-names"] = func(s *scene) {
		s.file("a", "two names")
		s.must(os.Link("a", "b"))
		s.must(os.Symlink("b", "link"))
		s.stat("b")
		s.try("rename", unix.Rename("link", "a"))
		s.tree()
	}
	scenes["special-files-live-on-without-a-name"] = func(s *scene) {
		s.must(unix.Mkfifo("fifo", 0o644))
		s.must(os.Symlink("x", "link"))
		s.must(os.Link("link", "link2"))
		fifo, link := s.open("fifo", unix.O_RDWR), s.open("link", unix.O_PATH|unix.O_NOFOLLOW)
		s.try("unlink", unix.Unlink("fifo"))
		s.try("unlink", unix.Unlink("link"))
		s.file("fifo", "a file now")
		s.fd("fifo", fifo)
		s.try("fchmod", unix.Fchmod(fifo, 0o600))
		s.fd("fifo", fifo)
		s.fd("link", link)
		s.tree()
	}
	scenes["exchange-of-trees"] = func(s *scene) {
		for _, d := range []string{"a/below", "b/other"} {
			s.must(os.MkdirAll(d, 0o755))
			s.file(d+"/f", d)
		}
		s.try("exchange", unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_EXCHANGE))
		s.tree()
		s.file("a/other/g", "new in a")
		s.file("b/below/g", "new in b")
		s.try("rename", unix.Rename("a/other/f", "b/f"))
		s.try("into each other", unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "a/other", unix.RENAME_EXCHANGE))
		s.tree()
	}
	scenes["rename-moves-whole-trees"] = func(s *scene) {
		s.must(os.MkdirAll("a/b/c", 0o755))
		s.file("a/b/c/f", "deep")
		s.must(os.Mkdir("z", 0o755))
		fd := s.open("a/b/c/f", unix.O_RDONLY)
		dir := s.open("a/b", unix.O_RDONLY)
		s.try("rename", unix.Rename("a/b", "z/b"))
		s.tree()
		s.fd("open file", fd)
		s.fd("open folder", dir)
		_, err := unix.Openat(dir, "c/f", unix.O_RDONLY, 0)
		s.try("openat", err)
	}
	scenes["rename-over-an-open-file"] = func(s *scene) {
		s.file("old", "old bytes")
		s.file("new", "new")
		fd := s.open("old", unix.O_RDONLY)
		s.try("rename", unix.Rename("new", "old"))
		s.fd("what was open", fd)
		b := make([]byte, 20)
		n, err := unix.Pread(fd, b, 0)
		s.say("read %q %s", b[:max(n, 0)], errnoName(err))
		s.tree()
	}
	scenes["rename-over-an-open-folder"] = func(s *scene) {
		s.must(os.Mkdir("old", 0o700))
		s.must(os.Mkdir("new", 0o755))
		fd := s.open("old", unix.O_RDONLY)
		s.try("rename", unix.Rename("new", "old"))
		s.fd("what was open", fd)
		_, err := unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)
		s.try("create in it", err)
		s.try("mkdir in it", unix.Mkdirat(fd, "d", 0o755))
		s.tree()
	}
	scenes["link-every-kind"] = func(s *scene) {
		for _, from := range s.things() {
			s.try("link "+from, unix.Link(from, from+".2"))
			s.stat(from + ".2")
			s.try("link again", unix.Link(from, "file"))
		}
		s.try("through a symlink", unix.Linkat(unix.AT_FDCWD, "link", unix.AT_FDCWD, "followed", unix.AT_SYMLINK_FOLLOW))
		s.stat("followed")
		s.try("into a file", unix.Link("file", "file/x"))
		s.try("into nothing", unix.Link("file", "absent/x"))
		s.try("with a slash", unix.Link("file", "x/"))
		s.stat("file")
	}
	scenes["unlink-and-rmdir-of-every-kind"] = func(s *scene) {
		for _, name := range kinds {
			s.afresh(name, func() {
				s.try("rmdir "+name, unix.Rmdir(name))
				s.try("unlink "+name, unix.Unlink(name))
				s.stat(name)
			})
		}
		s.must(os.Mkdir("d", 0o755))
		s.try("rmdir .", unix.Rmdir("d/."))
		s.try("rmdir ..", unix.Rmdir("d/.."))
		s.try("unlink with a slash", unix.Unlink("file/file/"))
		s.try("rmdir with a slash", unix.Rmdir("d/"))
		s.stat("d")
	}
	scenes["create-over-every-kind"] = func(s *scene) {
		for _, name := range s.things() {
			s.try("mkdir "+name, unix.Mkdir(name, 0o755))
			s.try("mkfifo "+name, unix.Mkfifo(name, 0o644))
			s.try("symlink "+name, unix.Symlink("x", name))
			s.try("mknod "+name, unix.Mknod(name, unix.S_IFREG|0o640, 0))
			fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o644)
			s.try("exclusive "+name, err)
			unix.Close(fd)
			s.must(os.RemoveAll("absent"))
		}
	}
	scenes["mknod-of-every-type"] = func(s *scene) {
		modes := map[string]uint32{"file": unix.S_IFREG, "fifo": unix.S_IFIFO, "socket": unix.S_IFSOCK, "dir": unix.S_IFDIR, "nothing": 0}
		for _, what := range sortedKeys(modes) {
			s.try("mknod "+what, unix.Mknod(what, modes[what]|0o4755, 0))
		}
		s.try("mknod null", unix.Mknod("null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
		s.tree()
	}
	scenes["names-as-long-as-can-be"] = func(s *scene) {
		long := strings.Repeat("n", 255)
		for _, name := range []string{long, long + "n", strings.Repeat("ü", 127) + "x", strings.Repeat("ü", 128)} {
			fd := s.open(name, unix.O_CREAT|unix.O_WRONLY)
			unix.Close(fd)
			s.try("mkdir", unix.Mkdir(name+"/d", 0o755))
			s.try("symlink", unix.Symlink("x", "l"+name[1:]))
			s.try("link", unix.Link(name, "k"+name[1:]))
			s.try("rename", unix.Rename(name, "m"+name[1:]))
			s.stat(name)
		}
		s.try("mkdir", unix.Mkdir(strings.Repeat("d", 256), 0o755))
		path := strings.Repeat("./", 2046) + "xyz"
		for _, p := range []string{path, path + "1"} { // 4095 and 4096 bytes
			s.try(fmt.Sprint(len(p)), unix.Mkdir(p, 0o755))
			s.stat(p)
		}
		s.try("long target", unix.Symlink(strings.Repeat("t", 4095), "longlink"))
		s.try("too long target", unix.Symlink(strings.Repeat("t", 4096), "toolonglink"))
		s.stat("longlink")
	}
	scenes["odd-names"] = func(s *scene) {
		for _, name := range []string{" ", "...", "a\nb", "\xff\xfe", "-rf", "*", "\x01", "a\\b", "café", "0~0~0", ".hidden", "con", "name:stream", "x;y", "#", "%41"} {
			s.file(name, name)
		}
		s.tree()
	}
}
