package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// daemonPatience is how long umount waits for the daemon to end once the mount is gone. Until then the backing is in use.
const daemonPatience = 10 * time.Second

func newUmountCommand() *cobra.Command {
	var lazy bool
	cmd := &cobra.Command{
		Use:     "umount MOUNTPOINT",
		Aliases: []string{"unmount"},
		Short:   "unmount, or say who keeps the mount busy",
		Long: `Unmount, and wait until the backing is free. What is hidden or claimed stays as it is
and is taken up by the next mount. What is in use is tried again for half a second; then
airlockfs says which programs use it.`,
		Args: takes(1, "airlockfs umount MOUNTPOINT"),
	}
	cmd.Flags().BoolVar(&lazy, "lazy", false, "take the mount away at once, its daemon ends with the last user")
	cmd.ValidArgsFunction = completeMountpoints
	cmd.RunE = func(_ *cobra.Command, args []string) error { return umount(args[0], lazy) }
	return cmd
}

func umount(path string, lazy bool) error {
	m, err := findMount(path)
	if err != nil {
		return err
	}
	if m.path != "." {
		return failf(exitNoMount, "%s is no mountpoint, it lies in the mount %s", show.Name(path), show.Name(m.root))
	}
	facts, factsErr := m.facts() // a dead daemon's mount can be unmounted too
	daemon := -1
	if factsErr == nil && !lazy {
		if daemon, err = unix.PidfdOpen(facts.PID, 0); err == nil {
			defer unix.Close(daemon)
		}
	}
	_ = os.Chdir("/") // the working folder may be in the mount
	try := func() error { return unmount(m.root, lazy || errors.Is(factsErr, unix.ENOTCONN)) }
	if err := whileBusy(try); err != nil {
		return explainUnmount(m.root, err)
	}
	return awaitExit(daemon, facts.PID)
}

// A mount that is busy is tried again for so long, so often. It is not found out by whom meanwhile: to look at all
// processes takes longer than that where there are many.
const (
	busyPatience = 500 * time.Millisecond
	busyPause    = 25 * time.Millisecond
)

// whileBusy tries again while a mount is busy: who looks at the files of a process that is about to end (lsof(8),
// fuser(1)) uses them for a moment.
func whileBusy(try func() error) error {
	enough := time.After(busyPatience)
	for {
		err := try()
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-enough:
			return err
		case <-time.After(busyPause):
		}
	}
}

// unmount is umount2(2), through fusermount3(1) for users other than root.
func unmount(root string, lazy bool) error {
	if os.Geteuid() != 0 {
		return unmountAsUser(root, lazy)
	}
	flags := unix.UMOUNT_NOFOLLOW
	if lazy {
		flags |= unix.MNT_DETACH
	}
	return unix.Unmount(root, flags)
}

func unmountAsUser(root string, lazy bool) error {
	args := []string{"-u"}
	if lazy {
		args = append(args, "-z")
	}
	said, err := exec.Command("fusermount3", append(args, "--", root)...).CombinedOutput()
	text := strings.ToLower(string(said)) // as Go spells errors
	switch {
	case err == nil:
		return nil
	case strings.Contains(text, unix.EBUSY.Error()):
		return unix.EBUSY
	case strings.Contains(text, unix.EPERM.Error()), strings.Contains(text, "not found in"), errors.Is(err, exec.ErrNotFound):
		return unix.EPERM // it is not in mtab: root mounted it, without fusermount3
	}
	return fmt.Errorf("fusermount3 failed (%w): %s", err, strings.TrimSpace(string(said)))
}

func explainUnmount(root string, err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return failf(exitBusy, "%s is busy: %s. End that, or use --lazy", show.Name(root), usersText(usersOf(root)))
	case errors.Is(err, unix.EPERM):
		return failf(exitProblems, "only root can unmount %s, or who mounted it without being root: use sudo", show.Name(root))
	}
	return fmt.Errorf("%s can't be unmounted: %w", show.Name(root), err)
}

// awaitExit waits for a process by its pidfd, which polls readable when it has ended (pidfd_open(2)).
func awaitExit(pidfd, pid int) error {
	if pidfd < 0 {
		return nil
	}
	deadline := time.Now().Add(daemonPatience)
	for {
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, max(int(time.Until(deadline).Milliseconds()), 0))
		if err == unix.EINTR {
			continue
		}
		if n == 0 {
			return failf(exitBusy, "the mount is gone, but its daemon (pid %d) has not ended yet and the backing is in use until it does", pid)
		}
		return err
	}
}
