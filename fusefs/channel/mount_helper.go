package channel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// helperMounter lets the set-user-id program fusermount3(1) mount. The helper
// opens the device and sends it over the socket that _FUSE_COMMFD names.
type helperMounter struct{}

const helperName = "fusermount3"

func (helperMounter) mount(on *folder, o Options) (*os.File, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(helperName, "-o", helperOptions(o), "--", on.path)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	if err := runHelper(cmd); err != nil {
		if o.AllowOther && strings.Contains(err.Error(), "user_allow_other") {
			err = errors.Join(errOnlyMounter, err)
		}
		return nil, err
	}
	return receiveDevice(ours)
}

func (helperMounter) unmount(path string, lazy bool) error {
	args := []string{"-u"}
	if lazy {
		args = append(args, "-z")
	}
	if err := runHelper(exec.Command(helperName, append(args, "--", path)...)); err != nil {
		return fmt.Errorf("cannot unmount %s: %w", path, err)
	}
	return nil
}

// helperOptions joins the options with commas; a comma or backslash in a value
// is escaped.
func helperOptions(o Options) string {
	options := append(o.mountOptions(), "fsname="+o.Source, "subtype="+o.Subtype)
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	for i := range options {
		options[i] = escape.Replace(options[i])
	}
	return strings.Join(options, ",")
}

func runHelper(cmd *exec.Cmd) error {
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no %s, which mounts for users other than root: install the package fuse3", helperName)
	}
	return fmt.Errorf("%s failed (%w): %s", helperName, err, strings.TrimSpace(said.String()))
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair(2): %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "fusermount"), os.NewFile(uintptr(fds[1]), "fusermount"), nil
}

// receiveDevice takes the descriptor out of the one message the helper sent
// before it exited.
func receiveDevice(socket *os.File) (*os.File, error) {
	data, control := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), data, control, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, fmt.Errorf("%s sent no device: %w", helperName, err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%s sent no device (%v)", helperName, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%s sent %d devices (%v)", helperName, len(fds), err)
	}
	return os.NewFile(uintptr(fds[0]), "/dev/fuse"), nil
}
