package channel

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const memFileSize = 4 << 20

// memFS is one folder in which every name exists, except "NAME.probe". What a
// file does depends on how its name begins:
//
//	hold   OPEN hands on and waits for cancel or letGo
//	wait   READ waits for cancel or letGo, and is synchronous
//	slow   READ waits for letGo, and is read-ahead: a background request
//	pass   is opened for passthrough
//	panic  OPEN panics
//
// A LOOKUP of "NAME.probe" counts as misordered if opens of NAME were answered
// whose RELEASE was not handled.
type memFS struct {
	fuse.RawFileSystem
	conn  *Conn // nil for the library's server
	letGo chan struct{}

	probes, misordered atomic.Int64
	waiting, cancelled atomic.Int64
	unmounted          atomic.Bool
	backing            atomic.Int32 // id of the last passthrough open

	mu     sync.Mutex
	byName map[string]*memNode
	byID   map[uint64]*memNode
}

type memNode struct {
	id    uint64
	name  string
	fd    int // memfd
	opens atomic.Int64
}

func newMemFS(t testing.TB) *memFS {
	fs := &memFS{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		letGo:         make(chan struct{}),
		byName:        make(map[string]*memNode),
		byID:          make(map[uint64]*memNode),
	}
	t.Cleanup(fs.close)
	return fs
}

func (fs *memFS) close() {
	for _, n := range fs.byID {
		_ = unix.Close(n.fd)
	}
}

func (fs *memFS) OnUnmount() { fs.unmounted.Store(true) }

func (fs *memFS) named(name string) *memNode {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if n := fs.byName[name]; n != nil {
		return n
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		panic(err)
	}
	if err := unix.Ftruncate(fd, memFileSize); err != nil {
		panic(err)
	}
	n := &memNode{id: uint64(len(fs.byID)) + 2, name: name, fd: fd}
	fs.byName[name], fs.byID[n.id] = n, n
	return n
}

func (fs *memFS) node(id uint64) *memNode {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byID[id]
}

func (fs *memFS) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if probed, ok := strings.CutSuffix(name, ".probe"); ok {
		fs.probes.Add(1)
		if fs.named(probed).opens.Load() != 0 {
			fs.misordered.Add(1)
		}
		return fuse.ENOENT
	}
	n := fs.named(name)
	out.NodeId = n.id
	n.attributes(&out.Attr)
	if !strings.HasPrefix(name, "stat") {
		out.SetEntryTimeout(3600e9)
		out.SetAttrTimeout(3600e9)
	}
	return fuse.OK
}

func (n *memNode) attributes(out *fuse.Attr) {
	out.Ino, out.Size, out.Mode, out.Nlink = n.id, memFileSize, syscall.S_IFREG|0o666, 1
}

func (fs *memFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if in.NodeId == fuse.FUSE_ROOT_ID {
		out.Ino, out.Mode, out.Nlink = 1, syscall.S_IFDIR|0o777, 2
		out.SetTimeout(3600e9)
		return fuse.OK
	}
	fs.node(in.NodeId).attributes(&out.Attr)
	return fuse.OK
}

func (fs *memFS) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n := fs.node(in.NodeId)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	switch {
	case strings.HasPrefix(n.name, "panic"):
		panic("asked to")
	case strings.HasPrefix(n.name, "hold"):
		fs.conn.HandOn(in.Unique)
		if status := fs.wait(cancel); status != fuse.OK {
			return status
		}
	case strings.HasPrefix(n.name, "slow"):
		out.OpenFlags = 0
	case strings.HasPrefix(n.name, "pass"):
		id, err := fs.conn.OpenBacking(n.fd)
		if err != nil {
			return fuse.ToStatus(err)
		}
		fs.backing.Store(id)
		out.OpenFlags, out.BackingID = fuse.FOPEN_PASSTHROUGH, id
	}
	n.opens.Add(1)
	return fuse.OK
}

func (fs *memFS) wait(cancel <-chan struct{}) fuse.Status {
	fs.waiting.Add(1)
	defer fs.waiting.Add(-1)
	select {
	case <-cancel:
		fs.cancelled.Add(1)
		return fuse.EINTR
	case <-fs.letGo:
		return fuse.OK
	}
}

func (fs *memFS) Read(cancel <-chan struct{}, in *fuse.ReadIn, _ []byte) (fuse.ReadResult, fuse.Status) {
	n := fs.node(in.NodeId)
	if strings.HasPrefix(n.name, "slow") {
		cancel = nil
	}
	if strings.HasPrefix(n.name, "slow") || strings.HasPrefix(n.name, "wait") {
		if status := fs.wait(cancel); status != fuse.OK {
			return nil, status
		}
	}
	return fuse.ReadResultFd(uintptr(n.fd), int64(in.Offset), int(in.Size)), fuse.OK
}

func (fs *memFS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := unix.Pwrite(fs.node(in.NodeId).fd, data, int64(in.Offset))
	return uint32(n), fuse.ToStatus(err)
}

func (fs *memFS) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (fs *memFS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { fs.node(in.NodeId).opens.Add(-1) }

func (fs *memFS) fill(t testing.TB, name string, content []byte) {
	_, err := unix.Pwrite(fs.named(name).fd, content, 0)
	require.NoError(t, err)
}
