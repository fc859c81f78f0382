package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

func newRunCommand() *cobra.Command {
	var worker, mountpoint string
	cmd := &cobra.Command{
		Use: "run [--worker NAME] [--mount MOUNTPOINT] -- CMD [ARG…]",

		DisableFlagsInUseLine: true,

		Short: "run a command as a named worker",
		Long: `Run CMD and all its descendants as one worker: what one of them claims belongs to all
that run under the same name and user, whatever session they are in. It ends with
CMD's status when CMD and all it left running have ended. Signals go to CMD.`,
		Example: "  airlockfs run --worker thumbnails --mount /mnt/in -- make-thumbnails",
		Args:    someCommand,
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&worker, "worker", "", "the worker's `NAME`; default: the name of CMD")
	cmd.Flags().StringVar(&mountpoint, "mount", "", "the `MOUNTPOINT`; default: the mount of the working folder, or the only one")
	_ = cmd.RegisterFlagCompletionFunc("mount", completeMountpoints) // the only one
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("worker") {
			worker = filepath.Base(args[0])
		}
		if err := checkWorker(worker); err != nil {
			return err
		}
		if err := register(worker, mountpoint); err != nil {
			return err
		}
		return runAsSubreaper(exec.Command(args[0], args[1:]...))
	}
	return cmd
}

func someCommand(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failf(exitUsage, "a command is missing: write it behind --")
	}
	return nil
}

func checkWorker(name string) error {
	if name == "" || strings.ContainsRune(name, '/') {
		return failf(exitUsage, "--worker %q: a worker's name must not be empty and has no slash: choose another one", name)
	}
	return nil
}

// register gives this process and its descendants a name in the mount.
func register(worker, mountpoint string) error {
	m, err := workMount(mountpoint)
	if err != nil {
		return err
	}
	if err := becomeSubreaper(); err != nil {
		return err
	}
	out, err := m.order(report.Order{Do: "join", Worker: worker})
	if err == nil && !out.Done {
		err = failf(exitProblems, "the mount %s does not take the worker %s: %s", show.Name(m.root), show.Name(worker), out.Refused)
	}
	return err
}

// becomeSubreaper makes this process the parent of descendants whose own parent ends.
func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
}

// workMount is the mount that a worker works in.
func workMount(mountpoint string) (livingMount, error) {
	if mountpoint != "" {
		return findMount(mountpoint)
	}
	if m, err := findMount("."); err == nil {
		return m, nil
	}
	mounts, err := readMounts()
	if err != nil {
		return livingMount{}, err
	}
	var ours []string
	for _, m := range mounts {
		if m.kind == filesystem {
			ours = append(ours, m.point)
		}
	}
	if len(ours) != 1 {
		return livingMount{}, failf(exitNoMount, "there are %d airlockfs mounts: say which with --mount MOUNTPOINT", len(ours))
	}
	return findMount(ours[0])
}

// runAsSubreaper runs a command to its end, and then waits for the descendants that it left behind.
func runAsSubreaper(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := catchForwarded()
	if err := cmd.Start(); err != nil {
		return cannotRun(cmd, err)
	}
	commandEnded, allEnded := make(chan unix.WaitStatus, 1), make(chan struct{})
	go reap(cmd.Process.Pid, commandEnded, allEnded)
	status := forwardUntil(cmd.Process, signals, commandEnded)
	for {
		select {
		case <-allEnded:
			return exitWith(statusCode(status))
		case sig := <-signals:
			if endsUs(sig) {
				return exitWith(statusCode(status))
			}
		}
	}
}

// reap waits for every child, those that became ours by the death of their parent included.
func reap(command int, commandEnded chan<- unix.WaitStatus, allEnded chan<- struct{}) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // ECHILD: there are none left
			close(allEnded)
			return
		case pid == command:
			commandEnded <- status
		}
	}
}
