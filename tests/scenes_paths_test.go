package tests

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// How paths are walked, and who may.

func init() {
	scenes["open-flags-on-every-kind"] = func(s *scene) {
		flags := map[string]int{
			"r": unix.O_RDONLY, "w": unix.O_WRONLY, "rw": unix.O_RDWR, "r|DIRECTORY": unix.O_DIRECTORY, "r|NOFOLLOW": unix.O_NOFOLLOW,
			"w|TRUNC": unix.O_WRONLY | unix.O_TRUNC, "r|TRUNC": unix.O_TRUNC, "r|CREAT": unix.O_CREAT, "w|CREAT|DIRECTORY": unix.O_WRONLY | unix.O_CREAT | unix.O_DIRECTORY,
			"w|CREAT|EXCL": unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL, "PATH": unix.O_PATH, "PATH|NOFOLLOW": unix.O_PATH | unix.O_NOFOLLOW,
			"w|APPEND": unix.O_WRONLY | unix.O_APPEND, "r|NOATIME": unix.O_NOATIME, "rw|SYNC": unix.O_RDWR | unix.O_SYNC, "rw|DSYNC": unix.O_RDWR | unix.O_DSYNC,
			"rw|DIRECT": unix.O_RDWR | unix.O_DIRECT, "w|CREAT|NOFOLLOW": unix.O_WRONLY | unix.O_CREAT | unix.O_NOFOLLOW,
		}
		for _, name := range kinds {
			for _, how := range sortedKeys(flags) {
				s.afresh(strings.ReplaceAll(name+"-"+how, "|", "."), func() {
					fd, err := unix.Open(name, flags[how]|unix.O_NONBLOCK, 0o644)
					s.try("open "+name+" "+how, err)
					if err == nil {
						s.fd("  is", fd)
						got, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
						s.say("  flags %#o %s", got, errnoName(err))
						unix.Close(fd)
					}
				})
			}
		}
	}
	scenes["walking-paths"] = func(s *scene) {
		s.things()
		s.must(os.Symlink("loop2", "loop1"))
		s.must(os.Symlink("loop1", "loop2"))
		s.must(os.Symlink("self", "self"))
		for _, path := range []string{"file/x", "link/x", "dangling/x", "dirlink/.", "dirlink/", "file/", "fifo/x", "loop1", "loop1/x", "self", "absent/x", "", "full/below/../..", "./full//below/"} {
			var st unix.Stat_t
			s.try("stat "+path, unix.Stat(path, &st))
			s.try("access "+path, unix.Access(path, unix.R_OK))
			s.try("chdir "+path, thereAndBack(path))
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
			s.try("open "+path, err)
			unix.Close(fd)
			_, err = unix.Readlink(path, make([]byte, 100))
			s.try("readlink "+path, err)
		}
		last := "file"
		for n := range 45 {
			name := fmt.Sprint("hop", n)
			s.must(os.Symlink(last, name))
			last = name
		}
		var st unix.Stat_t
		s.try("40 links", unix.Stat("hop39", &st))
		s.try("41 links", unix.Stat("hop40", &st))
	}
	scenes["deep-folders"] = func(s *scene) {
		start, err := unix.Open(".", unix.O_DIRECTORY, 0)
		s.must(err)
		long := strings.Repeat("n", 250)
		for range 20 { // the path has 5,000 bytes
			s.must(os.Mkdir(long, 0o755))
			s.must(os.Chdir(long))
		}
		s.file("bottom", "of 20 folders")
		s.read("bottom")
		_, err = os.ReadDir(".")
		s.try("readdir", err)
		b := make([]byte, 4096)
		n, err := unix.Getcwd(b)
		s.say("getcwd %v %s", n > 0, errnoName(err))
		s.try("rename", unix.Rename("bottom", "../bottom"))
		s.must(unix.Fchdir(start))
		unix.Close(start)
		s.try("rm -r", os.RemoveAll(long))
		s.tree()
	}
	scenes["rights-of-other-users"] = func(s *scene) {
		s.must(os.Mkdir("closed", 0o700))
		s.must(os.Mkdir("readable", 0o755))
		s.must(os.Mkdir("sticky", 0o777))
		s.must(os.Chmod("sticky", 0o1777))
		s.file("closed/f", "x")
		s.file("readable/f", "x")
		s.file("sticky/f", "x")
		s.file("secret", "x")
		s.must(os.Chmod("secret", 0o600))
		s.as(1234, func() {
			for _, name := range []string{"closed/f", "readable/f", "sticky/f", "secret"} {
				s.try("open "+name, justOpen(name))
				fd, err := unix.Open(name, unix.O_WRONLY, 0)
				s.try("open for writing "+name, err)
				unix.Close(fd)
				s.try("unlink "+name, unix.Unlink(name))
				s.try("chmod "+name, unix.Chmod(name, 0o777))
				s.try("chown "+name, unix.Chown(name, 1234, 1234))
				s.try("utimes "+name, unix.Utimes(name, nil))
				s.try("truncate "+name, unix.Truncate(name, 0))
				s.try("rename "+name, unix.Rename(name, "mine"))
				s.try("rename over "+name, unix.Rename("mine", name))
				s.try("setxattr "+name, unix.Setxattr(name, "user.x", []byte("x"), 0))
				s.try("link "+name, unix.Link(name, "sticky/hard"))
			}
			s.file("sticky/own", "mine")
			s.try("mkdir in readable", unix.Mkdir("readable/d", 0o755))
			s.try("rmdir readable", unix.Rmdir("readable"))
		})
		s.as(4321, func() {
			s.try("unlink a stranger's in sticky", unix.Unlink("sticky/own"))
			s.try("rename a stranger's in sticky", unix.Rename("sticky/own", "sticky/taken"))
			s.file("sticky/other", "other's")
			s.try("rename over a stranger's in sticky", unix.Rename("sticky/other", "sticky/own"))
		})
		s.as(1234, func() {
			s.try("chmod own", unix.Chmod("sticky/own", 0o4755))
			s.try("give own away", unix.Chown("sticky/own", 4321, -1))
			s.try("unlink own", unix.Unlink("sticky/own"))
		})
		s.tree()
	}
	scenes["group-of-the-folder"] = func(s *scene) {
		s.must(os.Mkdir("d", 0o777))
		s.must(os.Chown("d", 0, 555))
		s.must(unix.Chmod("d", 0o2777))
		s.as(1234, func() {
			s.file("d/f", "x")
			s.must(os.Mkdir("d/below", 0o755))
			s.must(os.Symlink("x", "d/link"))
			s.must(unix.Mkfifo("d/fifo", 0o644))
			s.file("d/below/f", "x")
			s.file("d/f.tmp", "x")
			s.try("rename", unix.Rename("d/f.tmp", "d/published"))
			s.try("setgid", unix.Chmod("d/f", 0o2755))
		})
		s.tree()
	}
	scenes["umask-and-default-acl"] = func(s *scene) {
		for _, mask := range []int{0, 0o027, 0o077, 0o777} {
			unix.Umask(mask)
			name := fmt.Sprintf("%o", mask)
			fd, err := unix.Open("f"+name, unix.O_CREAT|unix.O_WRONLY, 0o666)
			s.must(err)
			unix.Close(fd)
			s.must(unix.Mkdir("d"+name, 0o777))
			s.must(unix.Mknod("n"+name, unix.S_IFREG|0o666, 0))
			unix.Umask(0o022)
			s.stat("f" + name)
			s.stat("d" + name)
			s.stat("n" + name)
		}
		s.must(os.Mkdir("acl", 0o777))
		s.try("default acl", unix.Setxattr("acl", "system.posix_acl_default", []byte("\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x06\x00\xd2\x04\x00\x00\x04\x00\x05\x00\xff\xff\xff\xff\x10\x00\x07\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"), 0))
		s.file("acl/f", "x")
		s.must(os.Mkdir("acl/d", 0o777))
		for _, name := range []string{"acl/f", "acl/d"} {
			s.stat(name)
			b := make([]byte, 100)
			n, err := unix.Getxattr(name, "system.posix_acl_access", b)
			s.say("acl of %s %x %s", name, b[:max(n, 0)], errnoName(err))
		}
	}
	scenes["a-removed-working-folder"] = func(s *scene) {
		s.must(os.Mkdir("gone", 0o755))
		home, err := unix.Open(".", unix.O_DIRECTORY, 0)
		s.must(err)
		s.must(os.Chdir("gone"))
		dir := s.open(".", unix.O_RDONLY)
		s.try("rmdir", unix.Rmdir("../gone"))
		s.fd("the folder", dir)
		var st unix.Stat_t
		s.try("stat .", unix.Stat(".", &st))
		s.try("open .", justOpen("."))
		s.try("create", justCreate("f"))
		s.try("mkdir", unix.Mkdir("d", 0o755))
		s.try("symlink", unix.Symlink("x", "l"))
		s.try("stat ..", unix.Stat("..", &st))
		s.try("stat f", unix.Stat("f", &st))
		s.try("unlink f", unix.Unlink("f"))
		s.try("chmod .", unix.Chmod(".", 0o700))
		s.try("fchmod", unix.Fchmod(dir, 0o711))
		s.try("fsync", unix.Fsync(dir))
		_, err = unix.Getcwd(make([]byte, 4096))
		s.try("getcwd", err)
		n, err := unix.Getdents(dir, make([]byte, 4096))
		s.say("getdents %d %s", n, errnoName(err))
		s.must(unix.Fchdir(home))
		unix.Close(home)
		s.must(os.Mkdir("gone", 0o700))
		s.fd("the folder", dir)
	}
}

func justOpen(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY, 0)
	unix.Close(fd)
	return err
}

func justCreate(name string) error {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY, 0o644)
	unix.Close(fd)
	return err
}

// thereAndBack is chdir(2), there and back.
func thereAndBack(path string) error {
	home, err := unix.Open(".", unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(home)
	if err = unix.Chdir(path); err != nil {
		return err
	}
	return unix.Fchdir(home)
}
