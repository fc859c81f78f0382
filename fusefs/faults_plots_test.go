package fusefs

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const writeNew = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC

// plot is a part of a hand-off: what programs do that do not expect the disk to fail. It ends with the first call that
// fails. again: it can be played again where it has changed nothing.
type plot struct {
	name  string
	rules []string
	setup func(s *site)
	run   func(s *site) fuse.Status
	again bool
	parts []string // what may be public beside what was before, after only a part of it
}

// first is the first failure of calls, which are made one after the other.
func first(calls ...func() fuse.Status) fuse.Status {
	for _, call := range calls {
		if st := call(); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// older has a file in the folder.
func older(s *site) { s.put("in/f", "old") }

// claimed has a file that the consumer has read.
func claimed(s *site) {
	older(s)
	f, st := s.program("consumer").open("in/f", unix.O_RDONLY)
	s.must(st)
	s.must(f.close())
}

var plots = []*plot{
	{name: "publish at close", again: true, run: func(s *site) fuse.Status { return s.program("producer").put("in/f", "whole") }},
	{name: "publish by rename", again: true, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.put("in/f.tmp", "whole") },
			func() fuse.Status { return p.rename("in/f.tmp", "in/f", 0) })
	}},
	{name: "publish by link", again: true, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.put("in/f.tmp", "whole") },
			func() fuse.Status { return p.link("in/f.tmp", "in/f") }, func() fuse.Status { return p.unlink("in/f.tmp") })
	}},
	{name: "replace by rename", again: true, setup: older, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.put("in/f.tmp", "whole") },
			func() fuse.Status { return p.rename("in/f.tmp", "in/f", 0) })
	}},
	{name: "replace by writing", again: true, setup: older, run: func(s *site) fuse.Status { return s.program("producer").put("in/f", "whole") }},
	{name: "append", again: true, setup: older, run: func(s *site) fuse.Status {
		f, st := s.program("producer").open("in/f", unix.O_WRONLY|unix.O_APPEND)
		if st != fuse.OK {
			return st
		}
		f.off = len("old")
		if st = f.write("whole"); st != fuse.OK {
			return st
		}
		if st = f.sync(); st != fuse.OK {
			return st
		}
		return f.close()
	}},
	{name: "claim and settle by removing", setup: older, again: true, run: func(s *site) fuse.Status { return s.program("consumer").take("in/f", "old") }},
	{name: "claim and come back", setup: older, again: true, run: func(s *site) fuse.Status {
		f, st := s.program("consumer").open("in/f", unix.O_RDONLY)
		if st != fuse.OK {
			return st
		}
		if st = f.close(); st == fuse.OK {
			st = s.ends("consumer")
		}
		return st
	}},
	{name: "claim as a user without rights beyond the folder", setup: func(s *site) {
		older(s)
		require.NoError(s.t, os.Chmod(filepath.Join(s.dir, "in"), 0o777))
	}, run: func(s *site) fuse.Status {
		p := s.program("consumer")
		p.uid = 1001
		f, st := p.open("in/f", unix.O_RDONLY)
		if st == fuse.OK && s.program("other").stat("in/f") == fuse.OK {
			return fuse.Status(syscall.EILSEQ) // he reads it, and anybody else can claim it
		}
		if st == fuse.OK {
			st = f.close()
		}
		return st
	}},
	{name: "settle by moving to the archive", rules: []string{"out/**=archive"}, setup: claimed, run: func(s *site) fuse.Status {
		return s.program("consumer").rename("in/f", "out/f", 0)
	}},
	{name: "keep both in the archive", rules: []string{"out/**=archive"}, setup: func(s *site) { claimed(s); s.put("out/f", "whole") }, run: func(s *site) fuse.Status {
		return s.program("consumer").rename("in/f", "out/f", 0)
	}},
	{name: "move on to the next folder", setup: older, again: true, run: func(s *site) fuse.Status {
		return s.program("consumer").rename("in/f", "out/f", 0)
	}},
	{name: "take by renaming to a temp name", setup: older, run: func(s *site) fuse.Status {
		p := s.program("consumer")
		return first(func() fuse.Status { return p.rename("in/f", "out/f.tmp", 0) }, func() fuse.Status { return p.unlink("out/f.tmp") })
	}},
	{name: "take into a work folder", rules: []string{"out/**=work"}, setup: older, run: func(s *site) fuse.Status {
		p := s.program("consumer")
		return first(func() fuse.Status { return p.rename("in/f", "out/f", 0) }, func() fuse.Status { return p.unlink("out/f") })
	}},
	{name: "a claim that is moved comes back to its first name", rules: []string{"out/**=work"}, setup: older, run: func(s *site) fuse.Status {
		p := s.program("consumer")
		return first(func() fuse.Status { return p.rename("in/f", "out/g", 0) }, func() fuse.Status { return s.ends("consumer") })
	}},
	{name: "write within a claim", setup: older, run: func(s *site) fuse.Status {
		f, st := s.program("consumer").open("in/f", unix.O_RDWR)
		if st != fuse.OK {
			return st
		}
		if st = f.write("whole"); st != fuse.OK {
			return st
		}
		return f.close()
	}},
	// A publication that is made again after the claim has come back replaces what has.
	{name: "deliver while the name is claimed", setup: claimed, parts: []string{"replaced in/f=old"}, run: func(s *site) fuse.Status {
		return first(func() fuse.Status { return s.program("producer").put("in/f", "whole") }, func() fuse.Status { return s.ends("consumer") })
	}},
	{name: "remove", setup: older, again: true, run: func(s *site) fuse.Status { return s.program("consumer").unlink("in/f") }},
	{name: "a second name", setup: older, parts: []string{"public in/g=old"}, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.link("in/f", "in/g") }, func() fuse.Status { return s.program("consumer").take("in/g", "old") })
	}},
	{name: "exchange", setup: func(s *site) { older(s); s.put("in/g", "whole") }, run: func(s *site) fuse.Status {
		return s.program("producer").rename("in/f", "in/g", unix.RENAME_EXCHANGE)
	}},
	{name: "a killed writer", setup: func(s *site) {
		f, st := s.program("producer").open("in/f", writeNew)
		s.must(st, f.write("who"))
	}, run: func(s *site) fuse.Status { return s.ends("producer") }},
	{name: "a killed uploader", setup: func(s *site) {
		f, st := s.program("producer").open("in/f.part", writeNew)
		s.must(st, f.write("who"))
	}, run: func(s *site) fuse.Status { return s.ends("producer") }},
	{name: "an uploader that ends", setup: func(s *site) { s.must(s.program("producer").put("in/f.tmp", "whole")) },
		run: func(s *site) fuse.Status { return s.ends("producer") }},
	{name: "a killed claimant", setup: claimed, run: func(s *site) fuse.Status { return s.ends("consumer") }},
	{name: "make and remove a folder", again: true, parts: []string{"public in/d/"}, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.mkdir("in/d") }, func() fuse.Status { return p.rmdir("in/d") })
	}},
	{name: "remove a folder with a parked file", setup: func(s *site) {
		p := s.program("producer")
		s.must(p.mkdir("in/d"), p.put("in/d/f.tmp", "whole"))
		s.must(s.ends("producer"))
	}, run: func(s *site) fuse.Status { return s.program("consumer").rmdir("in/d") }},
	{name: "rename a folder with a parked file", setup: func(s *site) {
		p := s.program("producer")
		s.must(p.mkdir("in/d"), p.mkdir("in/d/e"), p.put("in/d/e/f.tmp", "whole"), p.put("in/d/g", "whole"))
		s.must(s.ends("producer"))
	}, run: func(s *site) fuse.Status { return s.program("consumer").rename("in/d", "out/d", 0) }},
	{name: "links and lists", setup: older, parts: []string{"public in/l@"}, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.symlink("f", "in/l") }, func() fuse.Status { return p.unlink("in/l") }, func() fuse.Status {
			names, st := p.list("in")
			if st == fuse.OK && names != 1 {
				return fuse.Status(syscall.EILSEQ)
			}
			return st
		})
	}},
	{name: "attributes", setup: older, run: func(s *site) fuse.Status {
		p, in := s.program("producer"), fuse.SetAttrIn{}
		in.Valid, in.Mode, in.Mtime = fuse.FATTR_MODE|fuse.FATTR_MTIME, 0o600, 1
		return first(func() fuse.Status { return p.setattr("in/f", in) }, func() fuse.Status { return p.setxattr("in/f", "user.x", "y") },
			func() fuse.Status { _, st := p.getxattr("in/f", "user.x"); return st })
	}},
	{name: "truncate", setup: older, run: func(s *site) fuse.Status {
		in := fuse.SetAttrIn{}
		in.Valid, in.Size = fuse.FATTR_SIZE, 0
		return s.program("producer").setattr("in/f", in)
	}},
	{name: "a lock file", run: func(s *site) fuse.Status {
		f, st := s.program("producer").open("in/f.lock", unix.O_RDWR|unix.O_CREAT)
		if st != fuse.OK {
			return st
		}
		if st = f.flock(); st != fuse.OK {
			return st
		}
		return f.close()
	}},
	{name: "make and remove a mark", again: true, parts: []string{"public in/m.lock/", "public in/x.lock="}, run: func(s *site) fuse.Status {
		p := s.program("producer")
		return first(func() fuse.Status { return p.mkdir("in/m.lock") }, func() fuse.Status { return p.excl("in/x.lock") },
			func() fuse.Status { return p.rmdir("in/m.lock") }, func() fuse.Status { return p.unlink("in/x.lock") })
	}},
	{name: "the marks of who is killed", setup: func(s *site) {
		p := s.program("producer")
		s.must(p.mkdir("in/m.lock"), p.excl("in/x.lock"), p.put("in/t", "whole"), p.link("in/t", "in/l.lock"))
	}, run: func(s *site) fuse.Status { return s.ends("producer") }},
	{name: "restart", setup: unfinished, run: func(s *site) fuse.Status {
		s.end()
		if s.begin() != nil {
			s.fs = nil
		}
		return fuse.OK
	}},
	{name: "restart after a crash", setup: unfinished, run: func(s *site) fuse.Status {
		s.crash()
		for _, p := range s.programs {
			p.kill()
		}
		if s.begin() != nil {
			s.fs = nil
		}
		return fuse.OK
	}},
}

// unfinished has something of every kind.
func unfinished(s *site) {
	s.must(s.program("parker").put("in/parked.tmp", "whole"), s.ends("parker"))
	f, st := s.program("killed").open("in/quarantined", writeNew)
	s.must(st, f.write("who"), s.ends("killed"))
	claimed(s)
	s.must(s.program("producer").put("in/f", "whole"), s.program("producer").put("in/closed.tmp", "whole"))
	f, st = s.program("producer").open("in/open", writeNew)
	s.must(st, f.write("who"))
	s.put("in/twice", "old")
	s.put("in/twice", "whole")
	s.put("in/moved", "whole")
	s.must(s.program("mover").rename("in/moved", "in/moved.tmp", 0))
}

// excl makes an empty file under a free name.
func (p *program) excl(path string) fuse.Status {
	f, st := p.open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if st != fuse.OK {
		return st
	}
	return f.close()
}
