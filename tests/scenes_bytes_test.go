package tests

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// What becomes of bytes: written, mapped, cut, copied, and left without a name.

func (s *scene) pwrite(fd int, text string, off int64) {
	n, err := unix.Pwrite(fd, []byte(text), off)
	s.say("pwrite %d at %d: %d %s", len(text), off, n, errnoName(err))
}

func (s *scene) pread(fd int, n int, off int64) {
	b := make([]byte, n)
	n, err := unix.Pread(fd, b, off)
	s.say("pread at %d: %s %s", off, digest(b[:max(n, 0)]), errnoName(err))
}

func init() {
	scenes["holes-and-data"] = func(s *scene) {
		fd := s.open("sparse", unix.O_CREAT|unix.O_RDWR)
		s.pwrite(fd, "begin", 0)
		s.pwrite(fd, "middle", 1<<20)
		s.try("ftruncate", unix.Ftruncate(fd, 8<<20))
		for _, off := range []int64{0, 5, 4096, 1 << 20, 1<<20 + 6, 8<<20 - 1, 8 << 20, 9 << 20, -1} {
			for what, whence := range []int{unix.SEEK_DATA, unix.SEEK_HOLE} {
				at, err := unix.Seek(fd, off, []int{unix.SEEK_DATA, unix.SEEK_HOLE}[what])
				s.say("seek %d %d: %d %s", off, whence, at, errnoName(err))
			}
		}
		s.pwrite(fd, "end", 8<<20-3)
		s.pread(fd, 100, 8<<20-50)
		s.must(unix.Close(fd))
		var st unix.Stat_t
		s.must(unix.Stat("sparse", &st))
		s.say("%d bytes in %d blocks", st.Size, st.Blocks)
	}
	scenes["fallocate-in-every-mode"] = func(s *scene) {
		for _, mode := range []uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE,
			unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_COLLAPSE_RANGE, unix.FALLOC_FL_INSERT_RANGE, 0x80000000} {
			name := fmt.Sprint("f", mode)
			s.must(os.WriteFile(name, bytes.Repeat([]byte("0123456789abcdef"), 1024), 0o644))
			fd := s.open(name, unix.O_RDWR)
			for _, r := range [][2]int64{{4096, 4096}, {8000, 500}, {1 << 16, 4096}, {0, 0}, {-1, 10}} {
				s.try(fmt.Sprint("fallocate ", mode, r), unix.Fallocate(fd, mode, r[0], r[1]))
				s.fd(name, fd)
				s.pread(fd, 1<<18, 0)
			}
			n, err := unix.Pwrite(fd, []byte("."), 1<<18)
			s.say("to the end %d %s", n, errnoName(err))
			s.must(unix.Close(fd))
		}
		fd := s.open("f0", unix.O_RDONLY)
		s.try("fallocate read only", unix.Fallocate(fd, 0, 0, 10))
	}
	scenes["truncate"] = func(s *scene) {
		s.file("f", "0123456789")
		for _, n := range []int64{5, 5, 20, 0, -1, 1 << 40} {
			s.try(fmt.Sprint("truncate ", n), unix.Truncate("f", n))
			s.stat("f")
		}
		s.must(os.Mkdir("d", 0o755))
		s.must(unix.Mkfifo("fifo", 0o644))
		s.try("truncate a folder", unix.Truncate("d", 0))
		s.try("truncate a fifo", unix.Truncate("fifo", 0))
		s.try("truncate nothing", unix.Truncate("absent", 0))
	}
	scenes["truncating-what-is-read"] = func(s *scene) {
		s.file("g", "0123456789")
		fd := s.open("g", unix.O_RDWR)
		reader := s.open("g", unix.O_RDONLY)
		for _, n := range []int64{5, 20, 0, -1} {
			s.try(fmt.Sprint("ftruncate ", n), unix.Ftruncate(fd, n))
			s.fd("writer", fd)
			s.fd("reader", reader)
			s.pread(reader, 100, 0)
		}
		s.try("ftruncate read only", unix.Ftruncate(reader, 3))
		trunc := s.open("g", unix.O_WRONLY|unix.O_TRUNC)
		s.fd("truncated", trunc)
		s.fd("reader", reader)
	}
	scenes["reads-and-writes-at-odd-places"] = func(s *scene) {
		fd := s.open("f", unix.O_CREAT|unix.O_RDWR)
		s.pwrite(fd, "x", 100)
		s.pread(fd, 200, 0)
		s.pread(fd, 10, 101)
		s.pread(fd, 10, 1<<40)
		s.pwrite(fd, "", 1000)
		s.fd("after an empty write", fd)
		_, err := unix.Pread(fd, make([]byte, 1), -1)
		s.try("pread -1", err)
		_, err = unix.Write(s.open("f", unix.O_RDONLY), []byte("x"))
		s.try("write read only", err)
		_, err = unix.Read(s.open("f", unix.O_WRONLY), make([]byte, 1))
		s.try("read write only", err)
		big := bytes.Repeat([]byte("big block "), 300_000)
		n, err := unix.Pwrite(fd, big, 7)
		s.say("write %d %s", n, errnoName(err))
		s.pread(fd, 4_000_000, 0)
		v, err := unix.Pwritev(fd, [][]byte{[]byte("one"), []byte("two")}, 50)
		s.say("pwritev %d %s", v, errnoName(err))
		s.pread(fd, 60, 0)
	}
	scenes["unlinked-but-open"] = func(s *scene) {
		fd := s.open("f", unix.O_CREAT|unix.O_RDWR)
		s.pwrite(fd, "still here", 0)
		s.must(unix.Fsync(fd))
		s.try("unlink", unix.Unlink("f"))
		s.fd("unlinked", fd)
		s.pwrite(fd, "more", 10)
		s.pread(fd, 100, 0)
		s.try("ftruncate", unix.Ftruncate(fd, 3))
		s.try("fchmod", unix.Fchmod(fd, 0o600))
		s.try("fchown", unix.Fchown(fd, 12, 34))
		s.try("fsync", unix.Fsync(fd))
		s.fd("unlinked", fd)
		s.try("fsetxattr", unix.Fsetxattr(fd, "user.x", []byte("y"), 0))
		b := make([]byte, 10)
		n, err := unix.Fgetxattr(fd, "user.x", b)
		s.say("fgetxattr %q %s", b[:max(n, 0)], errnoName(err))
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY, 0)
		s.try("open through /proc", err)
		if err == nil {
			s.pread(again, 100, 0)
			unix.Close(again)
		}
		s.file("f", "another")
		s.fd("unlinked", fd)
		s.tree()
	}
	scenes["unlinked-one-of-two-names"] = func(s *scene) {
		s.file("a", "two names")
		s.must(os.Link("a", "b"))
		fd := s.open("a", unix.O_RDWR)
		s.try("unlink", unix.Unlink("a"))
		s.fd("open", fd)
		s.pwrite(fd, "TWO", 0)
		s.must(unix.Close(fd))
		s.tree()
	}
	scenes["mappings"] = func(s *scene) {
		s.must(os.WriteFile("f", bytes.Repeat([]byte("."), 10000), 0o644))
		fd := s.open("f", unix.O_RDWR)
		shared, err := unix.Mmap(fd, 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if !s.try("mmap shared", err) {
			return
		}
		private, err := unix.Mmap(fd, 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
		s.try("mmap private", err)
		copy(shared[5000:], "shared")
		copy(private[6000:], "private")
		s.say("private sees %q", private[5000:5006])
		s.pread(fd, 10000, 0)
		s.try("msync", unix.Msync(shared, unix.MS_SYNC))
		s.read("f")
		s.pwrite(fd, "written", 100)
		s.say("mapping sees %q", shared[100:107])
		s.try("ftruncate", unix.Ftruncate(fd, 4096))
		copy(shared[4000:], "late")
		s.try("munmap", unix.Munmap(shared))
		s.try("munmap", unix.Munmap(private))
		s.must(unix.Close(fd))
		s.read("f")
		ro := s.open("f", unix.O_RDONLY)
		_, err = unix.Mmap(ro, 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED)
		s.try("mmap shared of a reader", err)
	}
	scenes["eight-appenders"] = func(s *scene) {
		s.file("log", "")
		var all sync.WaitGroup
		for w := range 8 {
			fd, err := unix.Open("log", unix.O_WRONLY|unix.O_APPEND, 0)
			s.must(err)
			all.Add(1)
			go func() {
				defer all.Done()
				defer unix.Close(fd)
				for n := range 200 {
					line := fmt.Sprintf("writer %d line %3d %s\n", w, n, bytes.Repeat([]byte{byte('a' + w)}, 40))
					if _, err := unix.Write(fd, []byte(line)); err != nil {
						panic(err)
					}
				}
			}()
		}
		all.Wait()
		b, err := os.ReadFile("log")
		s.must(err)
		lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
		whole := 0
		for _, l := range lines {
			var w, n int
			var rest string
			if got, _ := fmt.Sscanf(string(l), "writer %d line %d %s", &w, &n, &rest); got == 3 && len(rest) == 40 {
				whole++
			}
		}
		s.say("%d lines, %d whole", len(lines), whole)
		fd := s.open("log", unix.O_RDWR|unix.O_APPEND)
		s.pwrite(fd, "pwrite appends too\n", 0)
		at, err := unix.Seek(fd, 0, unix.SEEK_CUR)
		s.say("position %d %s", at, errnoName(err))
		s.stat("log")
	}
	scenes["copying-within-the-kernel"] = func(s *scene) {
		s.must(os.WriteFile("from", bytes.Repeat([]byte("0123456789"), 1000), 0o644))
		from, to := s.open("from", unix.O_RDONLY), s.open("to", unix.O_CREAT|unix.O_RDWR)
		at := int64(100)
		n, err := unix.CopyFileRange(from, &at, to, nil, 5000, 0)
		s.say("copy_file_range %d %s", n, errnoName(err))
		n, err = unix.Sendfile(to, from, nil, 3000)
		s.say("sendfile %d %s", n, errnoName(err))
		p := make([]int, 2)
		s.must(unix.Pipe(p))
		moved, err := unix.Splice(from, nil, p[1], nil, 1000, 0)
		s.say("splice in %d %s", moved, errnoName(err))
		moved, err = unix.Splice(p[0], nil, to, nil, 1000, 0)
		s.say("splice out %d %s", moved, errnoName(err))
		unix.Close(p[0])
		unix.Close(p[1])
		zero := int64(0)
		n, err = unix.CopyFileRange(to, &zero, to, &zero, 10, 0)
		s.say("onto itself %d %s", n, errnoName(err))
		s.try("fadvise", unix.Fadvise(from, 0, 0, unix.FADV_DONTNEED))
		s.try("sync_file_range", unix.SyncFileRange(to, 0, 100, unix.SYNC_FILE_RANGE_WRITE))
		s.try("fsync", unix.Fsync(to))
		s.try("fdatasync", unix.Fdatasync(to))
		s.must(unix.Close(to))
		s.read("to")
	}
	scenes["direct-and-synchronous-writes"] = func(s *scene) {
		for _, flags := range []int{unix.O_SYNC, unix.O_DSYNC, unix.O_DIRECT, unix.O_NONBLOCK} {
			name := fmt.Sprintf("f%o", flags)
			fd := s.open(name, unix.O_CREAT|unix.O_RDWR|flags)
			block, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			s.must(err)
			copy(block, "a block that is aligned")
			n, err := unix.Pwrite(fd, block, 4096)
			s.say("%o: wrote %d %s", flags, n, errnoName(err))
			n, err = unix.Pread(fd, block[:4096], 4096)
			s.say("%o: read %d %q %s", flags, n, block[:23], errnoName(err))
			s.must(unix.Munmap(block))
			s.must(unix.Close(fd))
			s.read(name)
		}
	}
	scenes["without-a-name-from-the-start"] = func(s *scene) {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o640)
		if !s.try("O_TMPFILE", err) {
			return
		}
		s.pwrite(fd, "nameless", 0)
		s.fd("nameless", fd)
		s.try("linkat", unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "named", unix.AT_SYMLINK_FOLLOW))
		s.must(unix.Close(fd))
		s.tree()
		_, err = unix.Open("absent", unix.O_TMPFILE|unix.O_RDWR, 0o640)
		s.try("O_TMPFILE in nothing", err)
	}
}
