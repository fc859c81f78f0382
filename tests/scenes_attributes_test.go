package tests

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Modes, owners, times and extended attributes.

// times are what stat says of a name, told apart only as a test can: set to a known time, or later than it.
func (s *scene) times(what, name string) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		s.try("lstat "+name, err)
		return
	}
	s.say("%s: %s atime %s, mtime %s, ctime %s", what, name, when(st.Atim), when(st.Mtim), when(st.Ctim))
}

func when(t unix.Timespec) string {
	at := time.Unix(t.Unix())
	if ago := time.Since(at); ago > -time.Second && ago < time.Minute {
		return "now"
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000000")
}

// changes notes which times of the names a call has moved.
func (s *scene) changes(what string, names []string, do func()) {
	before := map[string]unix.Statx_t{}
	for _, name := range names {
		if st, err := statNow(name); err == nil {
			before[name] = st
		}
	}
	waitTick(names)
	do()
	for _, name := range names {
		old, was := before[name]
		st, err := statNow(name)
		if err != nil || !was {
			continue
		}
		moved := "nothing"
		switch {
		case st.Mtime != old.Mtime:
			moved = "mtime and ctime" // the one never moves without the other
		case st.Ctime != old.Ctime:
			moved = "ctime"
		}
		s.say("%s moves of %s: %s", what, name, moved)
	}
}

// statNow is what the filesystem says now, not what the kernel remembers.
func statNow(name string) (st unix.Statx_t, err error) {
	err = unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &st)
	return st, err
}

// waitTick waits until the filesystem's clock has moved on, so that a time that is set now differs.
func waitTick(names []string) {
	probe := "/dev/shm/airlockfs-tick-" + fmt.Sprint(os.Getpid())
	defer os.Remove(probe)
	var first, st unix.Stat_t
	_ = os.WriteFile(probe, nil, 0o600)
	_ = unix.Stat(probe, &first)
	for st = first; st.Mtim == first.Mtim; {
		_ = os.WriteFile(probe, []byte("x"), 0o600)
		_ = unix.Stat(probe, &st)
	}
}

func init() {
	scenes["modes-of-every-kind"] = func(s *scene) {
		for _, name := range s.things() {
			for _, mode := range []uint32{0, 0o777, 0o4755, 0o2755, 0o1777, 0o7777} {
				s.try(fmt.Sprintf("chmod %s %o", name, mode), unix.Chmod(name, mode))
				s.stat(name)
			}
			s.try("fchmodat nofollow "+name, unix.Fchmodat(unix.AT_FDCWD, name, 0o700, unix.AT_SYMLINK_NOFOLLOW))
			s.try("chown "+name, unix.Chown(name, 12, 34))
			s.stat(name)
			s.try("lchown "+name, unix.Lchown(name, 56, -1))
			s.try("lchown "+name, unix.Lchown(name, -1, 78))
			s.try("lchown "+name, unix.Lchown(name, -1, -1))
			s.stat(name)
		}
		fd := s.open("fifo", unix.O_PATH)
		s.try("fchmod of O_PATH", unix.Fchmod(fd, 0o700))
	}
	scenes["set-user-id-goes-with-a-write"] = func(s *scene) {
		s.must(os.Mkdir("d", 0o777))
		s.must(os.Chmod("d", 0o777))
		s.as(1234, func() {
			for _, how := range []string{"write", "truncate", "ftruncate", "chown", "append"} {
				name := "d/" + how
				s.file(name, "program")
				s.must(unix.Chmod(name, 0o6755))
				fd := -1
				if how != "chown" && how != "truncate" {
					fd = s.open(name, unix.O_RDWR)
				}
				switch how {
				case "write", "append":
					_, err := unix.Pwrite(fd, []byte("x"), int64(len(how)))
					s.try(how, err)
				case "truncate":
					s.try(how, unix.Truncate(name, 3))
				case "ftruncate":
					s.try(how, unix.Ftruncate(fd, 3))
				case "chown":
					s.try(how, unix.Chown(name, -1, 1234))
				}
				unix.Close(fd)
				s.stat(name)
			}
		})
	}
	scenes["times-that-are-set"] = func(s *scene) {
		for _, name := range s.things() {
			for _, ts := range [][]unix.Timespec{{{Sec: 1, Nsec: 2}, {Sec: 3, Nsec: 4}}, {{Nsec: unix.UTIME_OMIT}, {Sec: 4e9, Nsec: 999999999}}, {{Sec: 5}, {Nsec: unix.UTIME_OMIT}},
				{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, {{Sec: -1, Nsec: 5}, {Sec: -1, Nsec: 5}}, {{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}, {{Nsec: 2e9}, {}}} {
				s.try("utimensat "+name, unix.UtimesNanoAt(unix.AT_FDCWD, name, ts, unix.AT_SYMLINK_NOFOLLOW))
				s.times("  then", name)
			}
		}
		s.try("followed", unix.UtimesNanoAt(unix.AT_FDCWD, "link", []unix.Timespec{{Sec: 77}, {Sec: 88}}, 0))
		s.times("target", "file")
	}
	scenes["times-that-calls-move"] = func(s *scene) {
		s.must(os.Mkdir("d", 0o755))
		s.must(os.Mkdir("e", 0o755))
		s.file("d/f", "x")
		names := []string{"d", "e", "d/f", "e/f", "d/g"}
		step := func(what string, do func() error) {
			s.changes(what, names, func() { s.try(what, do()) })
		}
		step("create", func() error { return justCreate("d/g") })
		step("write", func() error { return appendTo("d/f", "more") })
		step("truncate to the same length", func() error { return unix.Truncate("d/f", 5) })
		step("truncate", func() error { return unix.Truncate("d/f", 2) })
		step("open with O_TRUNC", func() error { return truncTo("d/f", "ab") })
		step("chmod", func() error { return unix.Chmod("d/f", 0o600) })
		step("chown", func() error { return unix.Chown("d/f", 1, 1) })
		step("link", func() error { return unix.Link("d/f", "d/h") })
		step("unlink", func() error { return unix.Unlink("d/h") })
		step("rename", func() error { return unix.Rename("d/f", "e/f") })
		step("rename over", func() error { return unix.Rename("e/f", "d/g") })
		step("mkdir", func() error { return unix.Mkdir("d/sub", 0o755) })
		step("rmdir", func() error { return unix.Rmdir("d/sub") })
		step("setxattr", func() error { return unix.Setxattr("d/g", "user.x", []byte("y"), 0) })
		step("symlink", func() error { return unix.Symlink("x", "e/l") })
		step("read", func() error { _, err := os.ReadFile("d/g"); return err })
		step("stat", func() error { return justOpen("d") })
		step("failing mkdir", func() error { return unix.Mkdir("d/g", 0o755) })
	}
	scenes["write-keeps-a-time-that-was-set-before"] = func(s *scene) {
		fd := s.open("f", unix.O_CREAT|unix.O_RDWR)
		s.pwrite(fd, "x", 0)
		s.try("futimens", unix.Futimes(fd, []unix.Timeval{{Sec: 100}, {Sec: 200}}))
		s.times("open", "f")
		s.must(unix.Close(fd))
		s.times("closed", "f")
	}
	scenes["statx"] = func(s *scene) {
		for _, name := range s.things() {
			var x unix.Statx_t
			err := unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &x)
			s.try("statx "+name, err)
			s.say("  mask %#x mode %o links %d size %d blksize %d attributes %#x", x.Mask&unix.STATX_BASIC_STATS, x.Mode, x.Nlink, sizeOf(&x), x.Blksize, x.Attributes)
		}
	}
	scenes["statfs"] = func(s *scene) {
		var st, back unix.Statfs_t
		s.try("statfs", unix.Statfs(".", &st))
		s.must(unix.Statfs("/dev/shm", &back))
		s.say("block size %d, name length %d, blocks %v files %v", st.Bsize, st.Namelen, st.Blocks == back.Blocks, st.Files == back.Files)
		fd := s.open(".", unix.O_RDONLY)
		s.try("fstatfs", unix.Fstatfs(fd, &st))
		s.say("sync %s", errnoName(unix.Syncfs(fd)))
	}
	scenes["extended-attributes"] = func(s *scene) {
		for _, name := range s.things() {
			for _, attr := range []string{"user.a", "trusted.a", "security.a", "system.a", "plain", "user.", "user." + strings.Repeat("x", 250), "user." + strings.Repeat("x", 251)} {
				s.try("set "+name+" "+short(attr), unix.Lsetxattr(name, attr, []byte("value"), 0))
				b := make([]byte, 100)
				n, err := unix.Lgetxattr(name, attr, b)
				s.say("get %q %s", b[:max(n, 0)], errnoName(err))
			}
			s.try("create", unix.Lsetxattr(name, "user.a", []byte("other"), unix.XATTR_CREATE))
			s.try("replace", unix.Lsetxattr(name, "user.b", []byte("other"), unix.XATTR_REPLACE))
			s.try("empty", unix.Lsetxattr(name, "user.c", nil, 0))
			_, err := unix.Lgetxattr(name, "user.a", make([]byte, 1))
			s.try("too small", err)
			n, err := unix.Llistxattr(name, nil)
			s.say("list %d %s", n, errnoName(err))
			_, err = unix.Llistxattr(name, make([]byte, 3))
			s.try("list too small", err)
			s.try("remove", unix.Lremovexattr(name, "user.a"))
			s.try("remove again", unix.Lremovexattr(name, "user.a"))
			s.try("65536 bytes", unix.Lsetxattr(name, "user.big", bytes.Repeat([]byte("x"), 65536), 0))
			s.try("65537 bytes", unix.Lsetxattr(name, "user.big", bytes.Repeat([]byte("x"), 65537), 0))
			s.stat(name)
		}
	}
}

func sizeOf(x *unix.Statx_t) uint64 {
	if x.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0
	}
	return x.Size
}

func appendTo(name, text string) error { return writeTo(name, text, unix.O_APPEND) }
func truncTo(name, text string) error  { return writeTo(name, text, unix.O_TRUNC) }

func writeTo(name, text string, flags int) error {
	f, err := os.OpenFile(name, os.O_WRONLY|flags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}
