package fusefs

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// virtual is a control file: MOUNT/.airlockfs/NAME, found by exact name only. What it tells is made when it is opened, for
// the user who opens it; what is written to one that does something is done for who writes it, and answered on the same
// descriptor. The commands use them; so any program can, with nothing but a file's rights.
type virtual struct {
	tell func(uid uint32) any
	do   func(p *protocol.Party, request []byte) (any, error) // both nil: the folder itself
}

// opened is a descriptor on a control file. What it reads begins at an offset: an answer follows its request.
type opened struct {
	does func(p *protocol.Party, request []byte) (any, error)
	uid  uint32
	text []byte
	from uint64
}

// longestRequest bounds what one write to a control file may ask for.
const longestRequest = 1 << 16

// controls are the nodes of the control files and the open descriptors on them.
type controls struct {
	folder *node
	files  map[string]*node

	mu     sync.Mutex
	opened map[uint64]*opened
	last   uint64
}

// controlFH marks the descriptors of control files, whose ids would else be those of handles.
const controlFH = uint64(1) << 63

func (d *desk) addControlsLocked(files map[string]virtual) {
	d.controls.opened = map[uint64]*opened{}
	d.controls.files = map[string]*node{}
	d.controls.folder = d.table.add(&node{id: d.table.nextID(), kind: controlNode, control: &virtual{}, parent: d.table.byID[rootID], name: backing.Control})
	for name, file := range files {
		d.controls.files[name] = d.table.add(&node{id: d.table.nextID(), kind: controlNode, control: &file})
	}
}

// controlEntry is the control node that a look-up means, if it means one.
func (d *desk) controlEntry(parentID uint64, name string) *node {
	switch {
	case parentID == rootID && name == backing.Control:
		return d.controls.folder
	case parentID == d.controls.folder.id && d.controls.files[name] != nil:
		return d.controls.files[name]
	case parentID == d.controls.folder.id:
		return d.newsNamed(name)
	}
	return nil
}

// controlNode is the control node of an id, nil if it is none.
func (d *desk) controlNode(id uint64) *node {
	if id == d.controls.folder.id {
		return d.controls.folder
	}
	for _, n := range d.controls.files {
		if n.id == id {
			return n
		}
	}
	return d.newsNode(id)
}

// controlFound are a control node's attributes. It is never forgotten, so no reference is counted.
func (d *desk) controlFound(n *node) found {
	st := backing.Stat{Mode: unix.S_IFREG | 0o444, Nlink: 1, ID: backing.ID{Ino: n.id &^ newsID}}
	switch {
	case n.control.do != nil:
		st.Mode |= 0o222
	case n.control.tell == nil:
		st.Mode, st.Nlink = unix.S_IFDIR|0o555, 2
	}
	now := unix.NsecToTimespec(d.Now().UnixNano())
	st.Atime, st.Mtime, st.Ctime = now, now, now
	return found{node: n, stat: st}
}

// openControl makes a control file's content for who opens it.
func (fs *FS) openControl(n *node, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	o := &opened{does: n.control.do, uid: in.Uid}
	switch {
	case !fs.desk.reportRoom(in.Uid):
		return fuse.Status(unix.ENFILE)
	case n.control.tell != nil && in.Flags&unix.O_ACCMODE == unix.O_RDONLY:
		o.text = lineOf(n.control.tell(in.Uid))
	case n.control.do == nil:
		return fuse.EACCES
	}
	c := &fs.desk.controls
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	out.Fh, out.OpenFlags = controlFH|c.last, fuse.FOPEN_DIRECT_IO
	c.opened[out.Fh] = o
	return fuse.OK
}

// lineOf is what is told, as JSON.
func lineOf(content any) []byte {
	b, err := json.Marshal(content)
	if err != nil {
		panic(err) // structs of strings and numbers always encode
	}
	return append(b, '\n')
}

// writeControl does what is asked. Who opened the descriptor may have left it to a program of another user, as its output:
// then nobody knows whose wish it is.
func (fs *FS) writeControl(in *fuse.WriteIn, request []byte) (uint32, fuse.Status) {
	c := &fs.desk.controls
	c.mu.Lock()
	o := c.opened[in.Fh]
	c.mu.Unlock()
	switch {
	case o == nil || o.does == nil:
		return 0, fuse.EBADF
	case o.uid != in.Uid:
		return 0, fuse.EPERM
	case len(request) > longestRequest:
		return 0, fuse.Status(unix.E2BIG)
	}
	answer, err := o.does(fs.who(&in.InHeader), request)
	if err != nil {
		return 0, status(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o.text, o.from = lineOf(answer), in.Offset+uint64(len(request))
	return uint32(len(request)), fuse.OK
}

func (fs *FS) readControl(in *fuse.ReadIn) ([]byte, bool) {
	if in.Fh&controlFH == 0 {
		return nil, false
	}
	c := &fs.desk.controls
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.opened[in.Fh]
	if o == nil || in.Offset < o.from {
		return nil, true
	}
	from := min(in.Offset-o.from, uint64(len(o.text)))
	return o.text[from:min(from+uint64(in.Size), uint64(len(o.text)))], true
}

func (fs *FS) releaseControl(fh uint64) bool {
	if fh&controlFH == 0 {
		return false
	}
	c := &fs.desk.controls
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.opened, fh)
	return true
}

// counter counts requests by opcode.
type counter struct {
	mu     sync.Mutex
	counts map[string]uint64
}

func (c *counter) add(opcode uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[opcodeName(opcode)]++
}

func (c *counter) read(uint32) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := make(map[string]uint64, len(c.counts))
	for name, n := range c.counts {
		copied[name] = n
	}
	return copied
}

// opcodes are the names of the kernel's requests (include/uapi/linux/fuse.h).
var opcodes = strings.Fields(`0 LOOKUP FORGET GETATTR SETATTR READLINK SYMLINK 7 MKNOD MKDIR UNLINK RMDIR RENAME LINK OPEN READ WRITE
	STATFS RELEASE 19 FSYNC SETXATTR GETXATTR LISTXATTR REMOVEXATTR FLUSH INIT OPENDIR READDIR RELEASEDIR FSYNCDIR GETLK SETLK SETLKW
	ACCESS CREATE INTERRUPT BMAP DESTROY IOCTL POLL NOTIFY_REPLY BATCH_FORGET FALLOCATE READDIRPLUS RENAME2 LSEEK COPY_FILE_RANGE
	SETUPMAPPING REMOVEMAPPING SYNCFS TMPFILE STATX`)

func opcodeName(op uint32) string {
	if int(op) < len(opcodes) {
		return opcodes[op]
	}
	return "OTHER"
}
