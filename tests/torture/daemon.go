package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/actor"
)

// rules of the mount, for the folders of package actor.
var rules = []string{"q/exit/**=queue,publish=exit", "q/ren/**=queue,publish=rename", "q/work/**=work", "q/done/**=archive"}

// daemon serves the mount, again and again.
type daemon struct {
	*stage
	bin     string
	failing string
	plain   bool
	cmd     *exec.Cmd
	exited  chan struct{}
	log     *os.File
}

func newDaemon(s *stage, o options) (*daemon, error) {
	log, err := os.OpenFile(filepath.Join(s.side, "daemon.txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &daemon{stage: s, bin: o.bin, failing: o.failing, plain: o.on == onPlain, log: log}, err
}

func (d *daemon) args() []string {
	args := []string{"mount", "-f", "--log-level", "info"}
	if d.plain {
		args = append(args, "--rule", "**=plain")
	} else {
		for _, r := range rules {
			args = append(args, "--rule", r)
		}
	}
	args = append(args, "--unknown-exit", "quarantine") // what a writer did while nothing was mounted, nobody knows
	return append(args, "--observer", "name="+actor.Looker+"*", d.backing, d.root)
}

// start starts the daemon and waits until it serves. faults are what its disk refuses (package backing/failpoint), if any.
func (d *daemon) start(faults string) error {
	d.cmd = exec.Command(d.bin, d.args()...)
	if faults != "" {
		d.cmd = exec.Command(d.failing, d.args()...)
		d.cmd.Env = append(os.Environ(), "AIRLOCKFS_FAIL="+faults)
	}
	d.cmd.Stdout, d.cmd.Stderr, d.cmd.Dir = d.log, d.log, "/"
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(d.cmd, d.exited)
	if !until(30*time.Second, func() bool { return d.mounted() || d.ended(0) }) || d.ended(0) {
		return fmt.Errorf("the daemon does not serve: %v", d.cmd.ProcessState)
	}
	_, err := output("stat", "-L", filepath.Join(d.root, ".airlockfs", "mount"))
	return err
}

func (d *daemon) mounted() bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+d.root+" ")
}

func (d *daemon) ended(within time.Duration) bool {
	return until(within, func() bool { return closed(d.exited) })
}

// downs are the ways in which a daemon goes.
var downs = []string{"kill", "kill", "lazy", "term"}

// patience with a mount that somebody still uses.
const patience = 2 * time.Second

// stop ends the daemon in one of these ways, and leaves no mount. A daemon whose mount was taken away serves those who
// have files open; after a time it is killed as well.
func (d *daemon) stop(how string) error {
	switch how {
	case "kill":
		_ = d.cmd.Process.Kill()
	case "lazy":
		_ = unix.Unmount(d.root, unix.MNT_DETACH)
	case "term":
		_ = d.cmd.Process.Signal(unix.SIGTERM)
	}
	if !d.ended(patience) {
		_ = d.cmd.Process.Kill()
	}
	if !d.ended(20 * time.Second) {
		return errors.New("the daemon can't be killed")
	}
	for d.mounted() {
		if err := unix.Unmount(d.root, unix.MNT_DETACH); err != nil && d.mounted() {
			return err
		}
	}
	return nil
}

// end unmounts in order; nobody uses the mount any more.
func (d *daemon) end() error {
	if _, err := output(d.bin, "umount", d.root); err != nil {
		return errors.Join(err, d.stop("kill"))
	}
	if !d.ended(20 * time.Second) {
		return errors.Join(errors.New("the daemon does not end after the unmount"), d.stop("kill"))
	}
	return nil
}

// output runs a command that looks at the mount: by a process of its own, and not for ever.
func output(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, exit.Stderr)
	}
	return out, err
}

// until waits for a state.
func until(most time.Duration, ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(most); !ok(); <-tick.C {
		if !time.Now().Before(end) {
			return false
		}
	}
	return true
}
