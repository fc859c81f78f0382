package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// readyVariable holds the number of the descriptor on which a daemon says that it serves, or why it does not.
const readyVariable = "AIRLOCKFS_READY_FD"

// news is what a daemon says, once. Code and Error are set if it failed.
type news struct {
	Greeting greeting `json:"greeting"`
	Error    string   `json:"error"`
	Code     int      `json:"code"`
}

// readiness is the daemon's end of the pipe to its parent.
type readiness struct{ pipe *os.File }

// inheritedReadiness is nil in a process that nobody waits for.
func inheritedReadiness() *readiness {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return nil
	}
	os.Unsetenv(readyVariable)
	unix.CloseOnExec(fd)
	return &readiness{os.NewFile(uintptr(fd), "ready")}
}

// serving fails if the parent is gone: then nobody knows of the mount.
func (r *readiness) serving(g greeting) error { return r.send(news{Greeting: g}) }

// failed fails itself after serving: nobody listens any more.
func (r *readiness) failed(err error) error {
	return r.send(news{Error: err.Error(), Code: exitCode(err)})
}

func (r *readiness) send(n news) error {
	err := json.NewEncoder(r.pipe).Encode(n)
	return errors.Join(err, r.pipe.Close())
}

// daemon is another process of this program, which serves a mount.
type daemon struct {
	cmd      *exec.Cmd
	greeting greeting
	lifeline *os.File // nil if it may outlive us
}

// startDaemon runs this program with other arguments in a session of its own, and returns when it serves. Its standard
// output and error go to log, or nowhere if that is nil. If there is a scratch folder the daemon ends with us, and then
// removes it.
func startDaemon(args []string, log *os.File, scratch string) (*daemon, error) {
	// What a shell left open here would stay open as long as the mount, and the reader of a pipe would wait for that.
	// Linux before 5.11 can't do it; nothing else depends on it.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d := &daemon{cmd: exec.Command("/proc/self/exe")}
	d.cmd.Args = args
	d.cmd.Env = append(os.Environ(), readyVariable+"=3")
	d.cmd.ExtraFiles = []*os.File{w}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if log != nil {
		d.cmd.Stdout, d.cmd.Stderr = log, log
	}
	if scratch != "" {
		err = d.tie(scratch)
	}
	if err == nil {
		err = d.cmd.Start()
	}
	for _, f := range d.cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("the daemon can't be started: %w", err)
	}
	return d, d.listen(r)
}

// tie gives the daemon a lifeline.
func (d *daemon) tie(scratch string) error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	d.lifeline = ours
	d.cmd.ExtraFiles = append(d.cmd.ExtraFiles, theirs)
	d.cmd.Env = append(d.cmd.Env, scratchVariable+"="+scratch)
	return nil
}

func (d *daemon) listen(r io.Reader) error {
	var n news
	if err := json.NewDecoder(r).Decode(&n); err != nil {
		return failf(exitMount, "the daemon ended before it served (%v); --log FILE may say why", d.cmd.Wait())
	}
	if n.Code != exitFine {
		_ = d.cmd.Wait() // it said what there is to say
		return failf(n.Code, "%s", n.Error)
	}
	d.greeting = n.Greeting
	return nil
}

// stopPatience is how long a daemon has to end before it is told again, and then killed.
const stopPatience = 2 * time.Second

// stop ends the daemon and waits for it. The first signal unmounts, the second one does not wait for users.
func (d *daemon) stop() {
	ended := make(chan struct{})
	go func() {
		_ = d.cmd.Wait() // whatever its status, it is gone
		close(ended)
	}()
	for _, sig := range []os.Signal{unix.SIGTERM, unix.SIGTERM, unix.SIGKILL} {
		_ = d.cmd.Process.Signal(sig)
		select {
		case <-ended:
			return
		case <-time.After(stopPatience):
		}
	}
	<-ended
}

// mountInBackground starts a daemon with this process's own arguments.
func mountInBackground(cmd *cobra.Command, s *settings, at string) error {
	var log *os.File
	if s.logFile != "" {
		f, err := openLog(s.logFile)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	dead := isDead(at)
	d, err := startDaemon(os.Args, log, "")
	if err != nil {
		return err
	}
	g := d.greeting
	g.Found = append(foundBefore(at, dead), g.Found...)
	fmt.Fprint(cmd.OutOrStdout(), g.text(s.verbose, show.IsTerminal(os.Stdout)))
	return d.cmd.Process.Release()
}
