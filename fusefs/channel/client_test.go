package channel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A process must not use the mount that it serves, so whatever touches a mount
// runs in another process: this test binary again, with a role.
const roleVariable = "CHANNEL_TEST_ROLE"

var roles = map[string]func(args []string) error{
	"order": orderRole,
	"bench": benchRole,
	"open":  openRole,
	"read":  readRole,
	"stat":  statRole,
	"serve": serveRole,
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == helperName {
		exitWith(fakeHelper(os.Args[1:]))
	}
	if role := os.Getenv(roleVariable); role != "" {
		exitWith(roles[role](os.Args[1:]))
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// client is a process in a role.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

func startClient(t testing.TB, role string, args ...string) *client {
	c := &client{cmd: exec.Command("/proc/self/exe", args...)}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = &c.stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.stdout = bufio.NewReader(stdout)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
	return c
}

func (c *client) line(t testing.TB) string {
	s, err := c.stdout.ReadString('\n')
	require.NoError(t, err, c.stderr.String())
	return strings.TrimSpace(s)
}

func (c *client) wait(t testing.TB) {
	require.NoError(t, c.cmd.Wait(), c.stderr.String())
}

// gone waits for the process to end, however it does.
func (c *client) gone() <-chan struct{} {
	done := make(chan struct{})
	go func() { _ = c.cmd.Wait(); close(done) }()
	return done
}

func runClient(t testing.TB, role string, args ...string) {
	startClient(t, role, args...).wait(t)
}

// orderRole: FILE ROUNDS. Opens, closes and looks.
func orderRole(args []string) error {
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range rounds {
		fd, err := unix.Open(args[0], unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat(args[0]+".probe", &st); err != unix.ENOENT {
			return fmt.Errorf("probe: %v", err)
		}
	}
	return nil
}

// statRole: FILE.
func statRole(args []string) error {
	var st unix.Stat_t
	return unix.Stat(args[0], &st)
}

// openRole: FILE. Says "opened" and keeps the file until its input ends.
func openRole(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	fmt.Println("opened")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return f.Close()
}

// readRole: FILE. Prints the first four bytes.
func readRole(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	content := make([]byte, 4)
	_, err = io.ReadFull(f, content)
	fmt.Println(string(content))
	return err
}

// benchRole: OPERATION FILE N. Waits for a line and prints the nanoseconds that
// N operations took.
func benchRole(args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	operate, err := benchOperation(args[0], args[1])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	start := time.Now()
	for range n {
		if err := operate(); err != nil {
			return err
		}
	}
	fmt.Println(time.Since(start).Nanoseconds())
	return nil
}

func benchOperation(operation, file string) (func() error, error) {
	fd, err := unix.Open(file, unix.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	small, large := make([]byte, 4<<10), make([]byte, 1<<20)
	transfer := func(f func(int, []byte, int64) (int, error), b []byte) func() error {
		return func() error { _, err := f(fd, b, 0); return err }
	}
	switch operation {
	case "stat":
		return func() error { return statRole([]string{file}) }, nil
	case "openclose":
		return func() error {
			fd, err := unix.Open(file, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		}, nil
	case "read4k":
		return transfer(unix.Pread, small), nil
	case "read1m":
		return transfer(unix.Pread, large), nil
	case "write4k":
		return transfer(unix.Pwrite, small), nil
	case "write1m":
		return transfer(unix.Pwrite, large), nil
	}
	return nil, fmt.Errorf("no operation %q", operation)
}
