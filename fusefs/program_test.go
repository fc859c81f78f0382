package fusefs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ourselves is the process that runs the tests. It is not to be killed.
func ourselves() *process {
	p := &process{pid: os.Getpid()}
	p.end.Do(func() {})
	return p
}

// process is a process in a session of its own that only waits to be killed. It exists because the mount looks who asks.
type process struct {
	pid, fd int // and its pidfd
	end     sync.Once
}

// nursery starts processes. A shell does it, because a fork of ours would have copies of all our descriptors for a moment,
// also of files of the backing that are open for writing, and whoever asks the kernel just then is told of them.
type nursery struct {
	mu  sync.Mutex
	in  *os.File
	out *bufio.Reader
}

var startNursery = sync.OnceValues(func() (*nursery, error) {
	shell := exec.Command("bash", "-c", `while read -r; do setsid sleep 120 & echo $!; done`)
	in, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := shell.StdoutPipe()
	shell.Stdin = in
	if err == nil {
		err = shell.Start()
	}
	return &nursery{in: w, out: bufio.NewReader(out)}, err
})

func (n *nursery) birth() (pid int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err = fmt.Fprintln(n.in); err != nil {
		return 0, err
	}
	line, err := n.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

func startProcess(t *testing.T) *process {
	n, err := startNursery()
	require.NoError(t, err)
	pid, err := n.birth()
	require.NoError(t, err)
	fd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	p := &process{pid: pid, fd: fd}
	t.Cleanup(p.kill)
	for name := ""; name != "sleep"; { // until then it is a shell's own fork, and that inherits
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		require.NoError(t, err)
		name = strings.TrimSpace(string(b))
	}
	return p
}

// kill kills the process and waits for its end. It may be called again.
func (p *process) kill() {
	p.end.Do(func() {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0)
		for poll := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}; ; {
			if _, err := unix.Poll(poll, -1); err != unix.EINTR {
				break
			}
		}
		unix.Close(p.fd)
	})
}
