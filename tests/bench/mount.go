package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience with a daemon that was told to end.
const patience = 5 * time.Second

// mount is a filesystem served by a daemon that stays in the foreground.
type mount struct {
	point  string
	daemon *process
	said   *tail
}

// startMount runs argv and waits until point is a mount. On error nothing is
// left behind.
func startMount(ctx context.Context, argv []string, point string) (*mount, error) {
	said := &tail{}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = said, said
	daemon, err := startProcess(cmd, unix.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("mount failed: %w", err)
	}
	m := &mount{point: point, daemon: daemon, said: said}
	if err := m.awaitMounted(ctx); err != nil {
		daemon.kill() // only once it has ended no mount can appear any more
		daemon.endedWithin(patience)
		return nil, errors.Join(fmt.Errorf("mount failed: %w", err), m.stop())
	}
	return m, nil
}

// awaitMounted watches the mount table, which polls as POLLPRI when it changes
// (proc_pid_mounts(5)), and the daemon.
func (m *mount) awaitMounted(ctx context.Context) error {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer table.Close()
	for {
		if mounted, err := isMountPoint(m.point); mounted || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w while waiting for the mount", context.Cause(ctx))
		}
		if m.daemon.endedWithin(0) {
			return fmt.Errorf("the daemon ended with %v: %s", m.daemon.cmd.ProcessState, m.said)
		}
		watched := []unix.PollFd{{Fd: int32(table.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(watched, 20); err != nil && err != unix.EINTR {
			return err
		}
	}
}

// explain adds to a call's error what the daemon died of, if it did: who lost
// the connection to it learns that a moment before it is reaped.
func (m *mount) explain(err error) error {
	if !m.daemon.endedWithin(200 * time.Millisecond) {
		return err
	}
	return fmt.Errorf("%w; the daemon ended with %v: %s", err, m.daemon.cmd.ProcessState, m.said)
}

// stop unmounts and waits for the daemon. It succeeds in any case in leaving
// neither; the error says if force was needed.
func (m *mount) stop() error {
	return errors.Join(m.unmount(), m.awaitEnd())
}

func (m *mount) unmount() error {
	mounted, err := isMountPoint(m.point)
	if !mounted {
		return err
	}
	force := time.AfterFunc(patience, m.abort)
	defer force.Stop()
	if err := unix.Unmount(m.point, unix.UMOUNT_NOFOLLOW); err != nil {
		m.abort()
		return fmt.Errorf("unmount: %w", err)
	}
	return nil
}

func (m *mount) awaitEnd() error {
	if m.daemon.endedWithin(patience) {
		return nil
	}
	m.daemon.kill()
	m.daemon.endedWithin(patience)
	return fmt.Errorf("the daemon did not end within %v of the unmount", patience)
}

// abort breaks the connection at once: every call on the mount fails, and even a
// client that waits for an answer can be killed. See umount2(2), MNT_FORCE.
func (m *mount) abort() {
	_ = unix.Unmount(m.point, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // not mounted is fine
	m.daemon.kill()
}

// tail keeps the last bytes written to it. It has one writer, and is read when
// that is done.
type tail struct{ bytes []byte }

const tailBytes = 1 * kib

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	t.bytes = t.bytes[max(0, len(t.bytes)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string { return strings.Join(strings.Fields(string(t.bytes)), " ") }
