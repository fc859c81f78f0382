package servers

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Process is a program in a session of its own. It ends with its test, and so does everything it started.
type Process struct {
	t    *testing.T
	cmd  *exec.Cmd
	In   io.WriteCloser
	mu   sync.Mutex
	out  bytes.Buffer
	done chan struct{}
}

func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func start(t *testing.T, env []string, program string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = "/", append(append(os.Environ(), "LC_ALL=C"), env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = time.Second // a session of a killed server may still hold its output
	var err error
	p.In, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // ProcessState says it
		close(p.done)
	}()
	t.Cleanup(func() {
		killAll(append(descendants(p.PID()), p.PID()))
		<-p.done
	})
	return p
}

func (p *Process) PID() int { return p.cmd.Process.Pid }

func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait waits for the program's own end and gives its exit status, -1 for a signal.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(2 * patience):
		p.t.Fatalf("%s does not end: %s", p.cmd, p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Kill kills the program, not what it started, and waits for its end.
func (p *Process) Kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	p.Wait()
}

// Say writes a line to the program's input.
func (p *Process) Say(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.In, line)
	require.NoError(p.t, err)
}

// Says waits for a text in the program's output.
func (p *Process) Says(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.Output(), text) || p.Ended() }, patience, 5*time.Millisecond, p.cmd.String())
	require.Contains(p.t, p.Output(), text)
}

// until polls a state.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, long := time.NewTicker(5*time.Millisecond), patience
	defer tick.Stop()
	if *plain {
		long = time.Second
	}
	for end := time.Now().Add(long); !ok(); <-tick.C {
		require.True(t, time.Now().Before(end), "never happened: %s", what)
	}
}

// descendants are the processes below one that still run (proc_pid_task_children(5)).
func descendants(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // gone: it has none
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
			if !bytes.Contains(stat, []byte(") Z ")) && len(stat) > 0 {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
