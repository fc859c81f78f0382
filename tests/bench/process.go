package main

import (
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// process is a child in a session of its own. Its methods may be called from
// several goroutines.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once it is reaped; cmd.ProcessState is valid then
}

// startProcess starts cmd as a session leader, which makes it no kin of its
// siblings and keeps the terminal's signals from it. Should this program be
// killed the kernel sends it orphaned; see PR_SET_PDEATHSIG in prctl(2). (That
// signal belongs to the creating thread, and Go ends none of ours.)
func startProcess(cmd *exec.Cmd, orphaned unix.Signal) (*process, error) {
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Pdeathsig: orphaned}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the outcome is in ProcessState
		close(p.done)
	}()
	return p, nil
}

// endedWithin waits for the end of the process, at most d.
func (p *process) endedWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// signal does nothing to a process that has been reaped.
func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() { p.signal(unix.SIGKILL) }
