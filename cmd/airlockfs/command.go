package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// catchForwarded catches the signals that a command run by us should get.
func catchForwarded() chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	return signals
}

// forwardUntil passes signals on to a process until its status comes. Those that a terminal's keys send are not passed
// on if there is a terminal: it sends them to the whole process group.
func forwardUntil(p *os.Process, signals <-chan os.Signal, ended <-chan unix.WaitStatus) unix.WaitStatus {
	terminal := hasTerminal()
	for {
		select {
		case status := <-ended:
			return status
		case sig := <-signals:
			if !terminal || sig != unix.SIGINT && sig != unix.SIGQUIT {
				_ = p.Signal(sig) // it may have ended meanwhile
			}
		}
	}
}

// hasTerminal tells whether the process has a controlling terminal (tty(4)).
func hasTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// endsUs tells whether a signal is a wish to end.
func endsUs(sig os.Signal) bool {
	return sig == unix.SIGTERM || sig == unix.SIGINT || sig == unix.SIGHUP || sig == unix.SIGQUIT
}

// statusCode is the exit code that a shell gives for a wait status.
func statusCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return status.ExitStatus()
}

func cannotRun(cmd *exec.Cmd, err error) error {
	code := exitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOENT) {
		code = exitNoSuchFile
	}
	return failf(code, "%s can't be run: %w", show.Name(cmd.Path), plain(err))
}
