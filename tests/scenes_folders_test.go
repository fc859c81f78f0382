package tests

import (
	bin "encoding/binary"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// What folders list, also while they change.

// names are all entries that a descriptor gives from where it stands.
func (s *scene) entries(dir int) []string {
	var all []string
	buf := make([]byte, 2000)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil {
			s.try("getdents", err)
		}
		if n <= 0 {
			return all
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		all = append(all, names...)
	}
}

func init() {
	scenes["listing-while-it-changes"] = func(s *scene) {
		for n := range 500 {
			s.must(os.WriteFile(fmt.Sprintf("f%03d", n), nil, 0o644))
		}
		dir := s.open(".", unix.O_RDONLY)
		buf := make([]byte, 1000)
		n, err := unix.ReadDirent(dir, buf)
		s.try("getdents", err)
		_, _, all := unix.ParseDirent(buf[:n], -1, nil)
		first := len(all)
		for n := 0; n < 500; n += 2 {
			s.must(unix.Unlink(fmt.Sprintf("f%03d", n)))
			s.must(os.WriteFile(fmt.Sprintf("g%03d", n), nil, 0o644))
		}
		all = append(all, s.entries(dir)...)
		seen := map[string]int{}
		for _, name := range all {
			seen[name]++
		}
		missing, twice := 0, 0
		for n := 1; n < 500; n += 2 {
			if seen[fmt.Sprintf("f%03d", n)] == 0 {
				missing++
			}
		}
		for _, n := range seen {
			if n > 1 {
				twice++
			}
		}
		s.say("of those that stayed %d are missing; %d came twice (%v)", missing, twice, first > 0)
		_, err = unix.Seek(dir, 0, 0)
		s.try("rewind", err)
		again := s.entries(dir)
		slices.Sort(again)
		s.say("after a rewind %d, sorted %s", len(again), digest([]byte(fmt.Sprint(again))))
	}
	scenes["removing-what-is-listed"] = func(s *scene) {
		for n := range 150 {
			s.must(os.WriteFile(fmt.Sprintf("f%03d", n), nil, 0o644))
		}
		dir := s.open(".", unix.O_RDONLY)
		buf, removed := make([]byte, 700), 0
		for {
			n, err := unix.ReadDirent(dir, buf)
			s.must(err)
			if n <= 0 {
				break
			}
			_, _, names := unix.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				s.must(unix.Unlink(name))
				removed++
			}
		}
		s.say("removed %d", removed)
		s.tree()
	}
	scenes["inode-numbers-are-those-of-stat"] = func(s *scene) {
		s.must(os.Mkdir("d", 0o755))
		s.must(os.Chdir("d"))
		defer os.Chdir("..")
		s.things()
		dir := s.open(".", unix.O_RDONLY)
		buf := make([]byte, 4096)
		n, err := unix.ReadDirent(dir, buf)
		s.try("getdents", err)
		for b := buf[:n]; len(b) >= 19; {
			ino, size := bin.NativeEndian.Uint64(b), int(b[16])|int(b[17])<<8
			name := string(b[19:size])
			if end := slices.Index(b[19:size], 0); end >= 0 {
				name = string(b[19 : 19+end])
			}
			s.lines = append(s.lines, fmt.Sprintf("%s: type %d, number agrees %v", name, b[18], ino == inode(name)))
			b = b[size:]
		}
		slices.Sort(s.lines)
	}
	scenes["links-of-a-folder"] = func(s *scene) {
		for n := range 5 {
			s.must(os.Mkdir(fmt.Sprint("d", n), 0o755))
			s.must(os.Mkdir(fmt.Sprint("d0/e", n), 0o755))
		}
		s.tree()
		s.must(os.RemoveAll("d0/e1"))
		s.must(os.Rename("d0/e2", "d1/e2"))
		s.tree()
	}
	scenes["hundreds-of-names"] = func(s *scene) {
		const many = 400
		for n := range many {
			fd, err := unix.Open(fmt.Sprint("name-", n), unix.O_CREAT|unix.O_WRONLY, 0o644)
			s.must(err)
			unix.Close(fd)
		}
		all, err := os.ReadDir(".")
		s.say("%d names %s", len(all), errnoName(err))
		for n := range many {
			s.must(unix.Unlink(fmt.Sprint("name-", n)))
		}
		all, err = os.ReadDir(".")
		s.say("%d names %s", len(all), errnoName(err))
	}
	scenes["syncing-folders"] = func(s *scene) {
		dir := s.open(".", unix.O_RDONLY)
		s.file("f", "x")
		s.try("fsync", unix.Fsync(dir))
		s.try("fdatasync", unix.Fdatasync(dir))
		_, err := unix.Read(dir, make([]byte, 10))
		s.try("read a folder", err)
		_, err = unix.Pwrite(dir, []byte("x"), 0)
		s.try("write a folder", err)
		s.try("ftruncate a folder", unix.Ftruncate(dir, 0))
	}
	scenes["handles"] = func(s *scene) {
		s.things()
		for _, name := range kinds {
			h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, name, 0)
			s.try("name_to_handle_at "+name, err)
			if err != nil {
				continue
			}
			s.say("  %v", h.Size() > 0)
		}
	}
	scenes["renaming-in-a-loop-never-loses-the-name"] = func(s *scene) {
		s.file("target", "0")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 200 {
				s.must(os.WriteFile("next.tmp", []byte(fmt.Sprint(n)), 0o644))
				s.must(os.Rename("next.tmp", "target"))
			}
		}()
		s.missed(done, func() error { _, err := os.ReadFile("target"); return err })
		s.tree()
	}
	scenes["a-symlink-replaced-by-a-file-is-never-missing"] = func(s *scene) {
		s.file("target", "0")
		s.must(os.Symlink("target", "name"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 200 {
				s.must(os.WriteFile("next.tmp", []byte(fmt.Sprint(n)), 0o644))
				s.must(os.Rename("next.tmp", "name"))
				s.must(os.Symlink("target", "link.tmp"))
				s.must(os.Rename("link.tmp", "name"))
			}
		}()
		s.missed(done, func() error { return unix.Lstat("name", &unix.Stat_t{}) })
	}
}

// missed says how often a look fails until the work is done.
func (s *scene) missed(done <-chan struct{}, look func() error) {
	missed := 0
	for ended := false; !ended; {
		if look() != nil {
			missed++
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
	s.say("missed %d", missed)
}
