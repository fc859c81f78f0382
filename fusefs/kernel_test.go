package fusefs

import (
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// program is a process that makes system calls on a site: each as the requests that the kernel would make of them, with
// one ESTALE of an open followed. A call answers an errno. What it looked up is forgotten at once.
type program struct {
	site    *site
	process *process
	uid     uint32
	refs    []uint64 // what this call has looked up
	files   []*openFile
}

// openFile is an open file description.
type openFile struct {
	of   *program
	node uint64
	fh   uint64
	off  int
}

// kill ends the process. What it has open is closed before, as the kernel does, by an exit with that signal.
func (p *program) kill() {
	for len(p.files) > 0 {
		f, d := p.files[0], p.site.desk()
		if h, err := d.handle(f.fh); err == nil {
			_ = d.flush(h, h.party, protocol.Verdict{Kind: protocol.Killed, Status: int(syscall.SIGKILL)}, 0)
		}
		f.release()
	}
	p.process.kill()
}

func (p *program) header(node uint64) fuse.InHeader {
	return fuse.InHeader{NodeId: node, Unique: 1, Caller: fuse.Caller{Owner: fuse.Owner{Uid: p.uid}, Pid: uint32(p.process.pid)}}
}

func (p *program) fs() *FS { return p.site.fs }

// done forgets what a call looked up, but for what stays open.
func (p *program) done(keep ...uint64) {
	for _, id := range p.refs {
		if len(keep) > 0 && keep[0] == id {
			keep = keep[1:]
			continue
		}
		p.fs().Forget(id, 1)
	}
	p.refs = nil
}

func (p *program) look(parent uint64, name string) (node uint64, st fuse.Status) {
	var out fuse.EntryOut
	h := p.header(parent)
	if st = p.fs().Lookup(nil, &h, name, &out); st == fuse.OK {
		p.refs = append(p.refs, out.NodeId)
	}
	return out.NodeId, st
}

// walk is the folder of a path, and the last name in it.
func (p *program) walk(path string) (parent uint64, name string, st fuse.Status) {
	parts := strings.Split(path, "/")
	parent = rootID
	for _, part := range parts[:len(parts)-1] {
		if parent, st = p.look(parent, part); st != fuse.OK {
			return 0, "", st
		}
	}
	return parent, parts[len(parts)-1], fuse.OK
}

// find is what a path means.
func (p *program) find(path string) (node uint64, st fuse.Status) {
	parent, name, st := p.walk(path)
	if st != fuse.OK {
		return 0, st
	}
	return p.look(parent, name)
}

func (p *program) stat(path string) fuse.Status {
	defer p.done()
	_, st := p.find(path)
	return st
}

func (p *program) open(path string, flags uint32) (*openFile, fuse.Status) {
	for try := 0; ; try++ {
		f, st := p.tryOpen(path, flags)
		if st == fuse.Status(syscall.ESTALE) && try == 0 {
			p.done()
			continue
		}
		if st != fuse.OK {
			p.done()
			return nil, st
		}
		p.done(f.node)
		p.files = append(p.files, f)
		return f, st
	}
}

func (p *program) tryOpen(path string, flags uint32) (*openFile, fuse.Status) {
	parent, name, st := p.walk(path)
	if st != fuse.OK {
		return nil, st
	}
	node, st := p.look(parent, name)
	switch {
	case st == fuse.ENOENT && flags&unix.O_CREAT != 0:
		in := fuse.CreateIn{InHeader: p.header(parent), Flags: flags, Mode: unix.S_IFREG | 0o644}
		var out fuse.CreateOut
		if st = p.fs().Create(nil, &in, name, &out); st == fuse.OK {
			p.refs = append(p.refs, out.NodeId)
		}
		return &openFile{of: p, node: out.NodeId, fh: out.Fh}, st
	case st != fuse.OK:
		return nil, st
	}
	in := fuse.OpenIn{InHeader: p.header(node), Flags: flags &^ (unix.O_CREAT | unix.O_EXCL)}
	var out fuse.OpenOut
	st = p.fs().Open(nil, &in, &out)
	return &openFile{of: p, node: node, fh: out.Fh}, st
}

func (f *openFile) write(text string) fuse.Status {
	in := fuse.WriteIn{InHeader: f.of.header(f.node), Fh: f.fh, Offset: uint64(f.off)}
	n, st := f.of.fs().Write(nil, &in, []byte(text))
	f.off += int(n)
	return st
}

func (f *openFile) read() (string, fuse.Status) {
	in := fuse.ReadIn{InHeader: f.of.header(f.node), Fh: f.fh}
	buf := make([]byte, 4096)
	r, st := f.of.fs().Read(nil, &in, buf)
	if st != fuse.OK {
		return "", st
	}
	b, st := r.Bytes(buf)
	return string(b), st
}

func (f *openFile) sync() fuse.Status {
	in := fuse.FsyncIn{InHeader: f.of.header(f.node), Fh: f.fh}
	return f.of.fs().Fsync(nil, &in)
}

func (f *openFile) flock() fuse.Status {
	in := fuse.LkIn{InHeader: f.of.header(f.node), Fh: f.fh, Owner: f.fh, LkFlags: 1, Lk: fuse.FileLock{End: 1<<63 - 1, Typ: unix.F_WRLCK}}
	return f.of.fs().SetLk(nil, &in)
}

// close is close(2): its answer is FLUSH's, and RELEASE follows.
func (f *openFile) close() fuse.Status {
	st := f.of.fs().Flush(nil, &fuse.FlushIn{InHeader: f.of.header(f.node), Fh: f.fh})
	f.release()
	return st
}

func (f *openFile) release() {
	p := f.of
	p.fs().Release(nil, &fuse.ReleaseIn{InHeader: p.header(f.node), Fh: f.fh})
	p.fs().Forget(f.node, 1)
	for n := range p.files {
		if p.files[n] == f {
			p.files = append(p.files[:n], p.files[n+1:]...)
			break
		}
	}
}

// at makes a call on a name in a folder.
func (p *program) at(path string, do func(h *fuse.InHeader, name string) fuse.Status) fuse.Status {
	defer p.done()
	parent, name, st := p.walk(path)
	if st != fuse.OK {
		return st
	}
	h := p.header(parent)
	return do(&h, name)
}

// on makes a call on what a path means.
func (p *program) on(path string, do func(h *fuse.InHeader) fuse.Status) fuse.Status {
	for try := 0; ; try++ {
		node, st := p.find(path)
		if st == fuse.OK {
			h := p.header(node)
			st = do(&h)
		}
		p.done()
		if st != fuse.Status(syscall.ESTALE) || try > 0 {
			return st
		}
	}
}

func (p *program) unlink(path string) fuse.Status {
	return p.at(path, func(h *fuse.InHeader, name string) fuse.Status {
		if _, st := p.look(h.NodeId, name); st != fuse.OK {
			return st
		}
		return p.fs().Unlink(nil, h, name)
	})
}

func (p *program) rmdir(path string) fuse.Status {
	return p.at(path, func(h *fuse.InHeader, name string) fuse.Status {
		if _, st := p.look(h.NodeId, name); st != fuse.OK {
			return st
		}
		return p.fs().Rmdir(nil, h, name)
	})
}

func (p *program) rename(from, to string, flags uint32) fuse.Status {
	return p.at(from, func(h *fuse.InHeader, name string) fuse.Status {
		target, other, st := p.walk(to)
		if st != fuse.OK {
			return st
		}
		if _, st = p.look(h.NodeId, name); st != fuse.OK {
			return st
		}
		if _, st = p.look(target, other); st != fuse.OK && st != fuse.ENOENT {
			return st
		}
		return p.fs().Rename(nil, &fuse.RenameIn{InHeader: *h, Newdir: target, Flags: flags}, name, other)
	})
}

func (p *program) link(from, to string) fuse.Status {
	return p.on(from, func(old *fuse.InHeader) fuse.Status {
		parent, name, st := p.walk(to)
		if st != fuse.OK {
			return st
		}
		if _, st = p.look(parent, name); st != fuse.ENOENT {
			return taken(st)
		}
		var out fuse.EntryOut
		if st = p.fs().Link(nil, &fuse.LinkIn{InHeader: p.header(parent), Oldnodeid: old.NodeId}, name, &out); st == fuse.OK {
			p.refs = append(p.refs, out.NodeId)
		}
		return st
	})
}

// taken: a name that is looked up can't be made.
func taken(st fuse.Status) fuse.Status {
	if st == fuse.OK {
		return fuse.Status(syscall.EEXIST)
	}
	return st
}

// made makes something that is no file.
func (p *program) made(path string, make func(h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status) fuse.Status {
	return p.at(path, func(h *fuse.InHeader, name string) fuse.Status {
		if _, st := p.look(h.NodeId, name); st != fuse.ENOENT {
			return taken(st)
		}
		var out fuse.EntryOut
		st := make(h, name, &out)
		if st == fuse.OK {
			p.refs = append(p.refs, out.NodeId)
		}
		return st
	})
}

func (p *program) mkdir(path string) fuse.Status {
	return p.made(path, func(h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
		return p.fs().Mkdir(nil, &fuse.MkdirIn{InHeader: *h, Mode: 0o755}, name, out)
	})
}

func (p *program) symlink(target, path string) fuse.Status {
	return p.made(path, func(h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
		return p.fs().Symlink(nil, h, target, name, out)
	})
}

func (p *program) setattr(path string, in fuse.SetAttrIn) fuse.Status {
	return p.on(path, func(h *fuse.InHeader) fuse.Status {
		in.InHeader = *h
		var out fuse.AttrOut
		return p.fs().SetAttr(nil, &in, &out)
	})
}

func (p *program) setxattr(path, name, value string) fuse.Status {
	return p.on(path, func(h *fuse.InHeader) fuse.Status {
		return p.fs().SetXAttr(nil, &fuse.SetXAttrIn{InHeader: *h}, name, []byte(value))
	})
}

func (p *program) getxattr(path, name string) (string, fuse.Status) {
	buf := make([]byte, 256)
	var n uint32
	st := p.on(path, func(h *fuse.InHeader) (st fuse.Status) {
		n, st = p.fs().GetXAttr(nil, h, name, buf)
		return st
	})
	return string(buf[:n]), st
}

// list counts what the program sees in a folder.
func (p *program) list(path string) (names int, st fuse.Status) {
	st = p.on(path, func(h *fuse.InHeader) fuse.Status {
		var open fuse.OpenOut
		if st := p.fs().OpenDir(nil, &fuse.OpenIn{InHeader: *h}, &open); st != fuse.OK {
			return st
		}
		defer p.fs().ReleaseDir(&fuse.ReleaseIn{InHeader: *h, Fh: open.Fh})
		out := fuse.NewDirEntryList(make([]byte, 1<<16), 0)
		st := p.fs().ReadDir(nil, &fuse.ReadIn{InHeader: *h, Fh: open.Fh}, out)
		names = p.fs().listings.get(open.Fh).names.count
		return st
	})
	return names, st
}
