package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// scratch is a mount for one command. Its daemon ends with this process and then removes the folder, should this process
// not come to that.
type scratch struct {
	folder, backing, mountpoint string
	daemon                      *daemon
}

func newScratch(flags []string) (*scratch, error) {
	folder, err := os.MkdirTemp("", "airlockfs-try-")
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder, backing: filepath.Join(folder, "backing"), mountpoint: mountpointIn(folder)}
	if err = errors.Join(os.Mkdir(s.backing, 0o755), os.Mkdir(s.mountpoint, 0o755)); err == nil {
		args := append([]string{"airlockfs", "mount", "-f", "--log", filepath.Join(folder, "log")}, flags...)
		s.daemon, err = startDaemon(append(args, "--", s.backing, s.mountpoint), nil, folder)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

func mountpointIn(folder string) string { return filepath.Join(folder, "mount") }

// run runs a command in the mount, and returns when it and all that it left running have ended.
func (s *scratch) run(command []string, signals <-chan os.Signal) (unix.WaitStatus, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{"airlockfs", "supervise", "--"}, command...)
	cmd.Dir = s.mountpoint
	cmd.Env = append(os.Environ(), "AIRLOCKFS_MOUNT="+s.mountpoint)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, cannotRun(cmd, err)
	}
	ended := make(chan unix.WaitStatus, 1)
	go func() {
		_ = cmd.Wait() // the status says it all
		ended <- unix.WaitStatus(cmd.ProcessState.Sys().(syscall.WaitStatus))
	}()
	return forwardUntil(cmd.Process, signals, ended), nil
}

// remove unmounts and removes the scratch folder. The mount is taken away from whatever still runs.
func (s *scratch) remove(out io.Writer, keep bool) error {
	s.daemon.stop()
	if !keep {
		return removeScratch(s.folder)
	}
	if err := removeMountpoint(s.folder); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "the backing is kept: %s\n", s.backing)
	return err
}

func removeScratch(folder string) error {
	if err := removeMountpoint(folder); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// removeMountpoint goes by rmdir(2), which fails on a mount, so nothing is ever removed through one.
func removeMountpoint(folder string) error {
	_ = unmount(mountpointIn(folder), true) // only a daemon that crashed leaves it mounted
	if err := os.Remove(mountpointIn(folder)); err != nil {
		return fmt.Errorf("the scratch mount can't be removed: %w", err)
	}
	return nil
}
