package tests

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// result is how a script ended.
type result struct {
	Out  string // standard output and error
	Code int    // exit status; 128+n for a signal
}

// Run runs a bash script in the mount, in a session of its own: a stranger to everybody else. It must end by itself.
func (m *Mount) Run(script string, args ...any) result {
	m.t.Helper()
	p := m.Start(script, args...)
	return p.Wait()
}

// Must is Run that must end with 0; it returns the output without the last newline.
func (m *Mount) Must(script string, args ...any) string {
	m.t.Helper()
	r := m.Run(script, args...)
	require.Zero(m.t, r.Code, "%s\n%s", fmt.Sprintf(script, args...), r.Out)
	return strings.TrimSuffix(r.Out, "\n")
}

// Process is a script that runs beside the test, in a session of its own.
type Process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *output
	in   *os.File
	done chan result
}

// Start starts a script. Its standard input is a pipe: `read` in it waits for Say.
func (m *Mount) Start(script string, args ...any) *Process {
	return m.StartAs(m.user, script, args...)
}

// StartAs is Start as another user.
func (m *Mount) StartAs(uid uint32, script string, args ...any) *Process {
	m.t.Helper()
	if len(args) > 0 {
		script = fmt.Sprintf(script, args...)
	}
	r, w, err := os.Pipe()
	require.NoError(m.t, err)
	p := &Process{t: m.t, cmd: exec.Command("bash", "-c", script), out: &output{}, in: w, done: make(chan result, 1)}
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = m.Dir, r, p.out, p.out
	p.cmd.Env = append(os.Environ(), "M="+m.Dir, "LC_ALL=C")
	p.cmd.WaitDelay = 2 * patience // who has left its session may have its output open for ever
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid != 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	require.NoError(m.t, p.cmd.Start())
	r.Close()
	go p.reap()
	m.t.Cleanup(p.kill)
	return p
}

// RunAs is Run as another user.
func (m *Mount) RunAs(uid uint32, script string, args ...any) result {
	m.t.Helper()
	return m.StartAs(uid, script, args...).Wait()
}

func (p *Process) reap() {
	err := p.cmd.Wait()
	r := result{Out: p.out.String(), Code: p.cmd.ProcessState.ExitCode()}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Code = 128 + int(ws.Signal())
	}
	_ = err // the status says it
	p.done <- r
}

// Wait waits for the script's own end.
func (p *Process) Wait() result {
	p.t.Helper()
	select {
	case r := <-p.done:
		p.done <- r
		return r
	case <-time.After(2 * patience):
		p.kill()
		p.t.Fatalf("the script does not end: %s", p.cmd)
		return result{}
	}
}

// Say writes a line to the script's standard input: it passes its next `read`.
func (p *Process) Say() {
	p.t.Helper()
	_, err := p.in.WriteString("\n")
	require.NoError(p.t, err)
}

// PID is the script's process id, which is also its session and group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill kills the script and everything in its process group, and waits for the script's end.
func (p *Process) Kill() result {
	p.t.Helper()
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	return p.Wait()
}

// kill is the clean-up: whatever is left of the script's session ends.
func (p *Process) kill() {
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	p.in.Close()
	<-p.done
	p.done <- result{}
}
