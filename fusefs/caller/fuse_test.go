package caller

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

const (
	program     = "program" // the test binary
	programNode = 2
)

// mount is a file system in which any file can be made, and one is there. It asks the table as the product does, and
// records the answers.
type mount struct {
	fuse.RawFileSystem
	table *Table
	dir   string
	nodes atomic.Uint64
	bin   *os.File

	askedSelf atomic.Int64 // attribute requests by this process

	mu     sync.Mutex
	opened []*protocol.Party
	closed []closing
}

type closing struct {
	party   *protocol.Party
	verdict protocol.Verdict
}

func mountFor(t *testing.T) *mount {
	t.Helper()
	m := &mount{RawFileSystem: fuse.NewDefaultRawFileSystem(), table: newTable(t, Options{}), dir: t.TempDir()}
	m.nodes.Store(programNode)
	bin, err := os.Open(os.Args[0])
	require.NoError(t, err)
	t.Cleanup(func() { _ = bin.Close() })
	m.bin = bin
	options := &fuse.MountOptions{DirectMountStrict: true, FsName: "caller-test", Name: "callertest"}
	server, err := fuse.NewServer(m, m.dir, options)
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve()
	}()
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return server.Unmount() == nil }, patience, 50*time.Millisecond)
		<-served
	})
	require.NoError(t, server.WaitMount())
	return m
}

func (m *mount) attr(node uint64, out *fuse.Attr) {
	out.Ino, out.Mode = node, syscall.S_IFREG|0o777
	switch node {
	case fuse.FUSE_ROOT_ID:
		out.Mode = syscall.S_IFDIR | 0o777
	case programNode:
		st, err := m.bin.Stat()
		must(err)
		out.Size = uint64(st.Size())
	}
}

func (m *mount) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if name != program {
		return fuse.ENOENT
	}
	out.NodeId = programNode
	m.attr(programNode, &out.Attr)
	return fuse.OK
}

func (m *mount) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if int(in.Pid) == os.Getpid() {
		m.askedSelf.Add(1)
	}
	m.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

func (m *mount) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, _ := m.bin.ReadAt(buf, int64(in.Offset)) // short at the end of the file
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (m *mount) Create(_ <-chan struct{}, in *fuse.CreateIn, _ string, out *fuse.CreateOut) fuse.Status {
	out.NodeId = m.nodes.Add(1)
	m.attr(out.NodeId, &out.Attr)
	m.open(in.Caller)
	return fuse.OK
}

func (m *mount) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	m.open(in.Caller)
	return fuse.OK
}

func (m *mount) open(by fuse.Caller) {
	party := m.table.Opener(by.Pid, by.Uid, by.Gid)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = append(m.opened, party)
}

func (m *mount) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	party, verdict := m.table.Closing(in.Pid, in.Uid, in.Gid)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = append(m.closed, closing{party, verdict})
	return fuse.OK
}

func (m *mount) Release(<-chan struct{}, *fuse.ReleaseIn) {}

// run runs a program in the mount's folder to its end and returns the verdicts of its own process's closes.
func (m *mount) run(t *testing.T, env string, args ...string) []protocol.Verdict {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "F="+filepath.Join(m.dir, "f"), env)
	require.NoError(t, cmd.Start())
	_ = cmd.Wait() // the program's failure is the point
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []protocol.Verdict
	for _, c := range m.closed {
		if c.party.Process.PID == cmd.Process.Pid {
			list = append(list, c.verdict)
		}
	}
	m.closed = nil
	return list
}

func TestClosing(t *testing.T) {
	m := mountFor(t)
	living := protocol.Verdict{}
	for script, want := range map[string]protocol.Verdict{
		`exec 3>"$F"; exec 3>&-; exit 3`:         living,
		`exec 3>"$F"; exit 0`:                    {Kind: protocol.Clean},
		`exec 3>"$F"; exit 3`:                    {Kind: protocol.Failed, Status: 3},
		`exec 3>"$F"; kill -KILL $$`:             {Kind: protocol.Killed, Status: 9},
		`exec 3>"$F"; kill -SEGV $$`:             {Kind: protocol.Killed, Status: 11},
		`exec 3>"$F"; ( : ) & wait; exit 4`:      {Kind: protocol.Failed, Status: 4},
		`exec 3>"$F"; exec sh -c 'exit 5'`:       {Kind: protocol.Failed, Status: 5},
		`exec 3>"$F"; sh -c 'exit 6'; exec 3>&-`: living,
	} {
		got := m.run(t, "", "bash", "-c", script)
		require.NotEmpty(t, got, script)
		assert.Equal(t, want, got[len(got)-1], script)
		for _, v := range got[:len(got)-1] { // dup2 and close-on-exec
			assert.Equal(t, living, v, script)
		}
	}
}

func TestClosingByTheExitOfAThread(t *testing.T) {
	m := mountFor(t)
	got := m.run(t, helperEnv+"=exit-from-thread", os.Args[0], filepath.Join(m.dir, "f"))
	assert.Equal(t, []protocol.Verdict{{Kind: protocol.Failed, Status: 3}}, got)
}

func TestOpenerInCreate(t *testing.T) {
	m := mountFor(t)
	m.run(t, "", "bash", "-c", `( : > "$F" ); : > "$F"`)
	require.Len(t, m.opened, 2)
	subshell, script := m.opened[0], m.opened[1]
	assert.Equal(t, "bash", subshell.Program)
	assert.True(t, protocol.Kin(script, subshell))
	assert.True(t, m.table.Ended(script.ID))
}

// execve closes descriptors while it holds a lock that some procfs files need; see the package documentation.
func TestExecWithAnInheritedDescriptorNeverHangs(t *testing.T) {
	m := mountFor(t)
	for range 20 {
		got := m.run(t, helperEnv+"=exec", os.Args[0], filepath.Join(m.dir, "f"))
		assert.Equal(t, []protocol.Verdict{{}}, got)
	}
}

// The program's file lies on the mount that asks for it: a handler that asked for its attributes would ask itself. A
// shell starts it, since a Go program can't serve while one of its own threads is between fork and exec.
func TestExeOnTheMountItself(t *testing.T) {
	m := mountFor(t)
	start := `exec "` + filepath.Join(m.dir, program) + `" "$F"`
	got := m.run(t, helperEnv+"=exit-from-thread", "bash", "-c", start)
	assert.Equal(t, []protocol.Verdict{{Kind: protocol.Failed, Status: 3}}, got)
	require.NotEmpty(t, m.opened)
	_, ino, ok := m.table.Exe(m.opened[len(m.opened)-1].ID)
	assert.True(t, ok)
	assert.EqualValues(t, programNode, ino)
	assert.Zero(t, m.askedSelf.Load())
}
