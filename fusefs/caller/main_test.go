package caller

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// helperEnv makes the test binary one of the programs below instead of running tests.
const helperEnv = "CALLER_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		helper(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// helper programs print an id, wait for a line on descriptor 0 (or 4, if they print on 3), and end.
func helper(mode string) {
	switch mode {
	case "wait":
		fmt.Println(os.Getpid())
		waitLine(0)
	case "wait34":
		_, _ = fmt.Fprintln(os.NewFile(3, "out"), os.Getpid())
		waitLine(4)
	case "fork":
		forkOnly()
	case "thread":
		endThread()
	case "exit-from-thread":
		open()
		onThread(func() { os.Exit(3) })
	case "exec":
		open()
		must(unix.Exec("/bin/true", []string{"true"}, nil))
	}
}

// open makes the file that is the first argument, and leaves it open.
func open() {
	_, err := unix.Open(os.Args[1], unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func waitLine(fd int) {
	_, _ = unix.Read(fd, make([]byte, 1))
}

// onThread runs f on a thread that is not the main one, and waits.
func onThread(f func()) {
	runtime.LockOSThread() // the main goroutine keeps whichever thread it is on
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onThread(f)
			return
		}
		f()
	}()
	<-done
}

// endThread prints the id of a thread, ends that thread after a line, prints another line, and waits again.
func endThread() {
	onThread(func() {
		fmt.Println(unix.Gettid())
		waitLine(0)
	}) // a locked thread ends with its goroutine
	fmt.Println("ended")
	waitLine(0)
}

// forkOnly is fork(2) without execve(2). The child has no Go runtime: system calls are all it may do.
func forkOnly() {
	var buf byte
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		panic(errno)
	}
	if pid == 0 {
		syscall.RawSyscall(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&buf)), 1)
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	fmt.Println(pid)
	_, _ = unix.Wait4(int(pid), nil, 0, nil)
	waitLine(0)
}

// prog is a running test program.
type prog struct {
	*exec.Cmd
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Reader
}

// start runs a program in a session of its own. It is killed at the end of the test.
func start(t *testing.T, args ...string) *prog {
	t.Helper()
	return startAs(t, &syscall.SysProcAttr{Setsid: true}, args...)
}

func startAs(t *testing.T, attr *syscall.SysProcAttr, args ...string) *prog {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), "HELPER="+os.Args[0])
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = in.Close()
		_ = cmd.Wait()
	})
	return newProg(t, cmd, in, out)
}

func newProg(t *testing.T, cmd *exec.Cmd, in io.WriteCloser, out io.Reader) *prog {
	return &prog{Cmd: cmd, t: t, in: in, lines: bufio.NewReader(out)}
}

func shell(t *testing.T, script string) *prog { return start(t, "sh", "-c", script) }
func bash(t *testing.T, script string) *prog  { return start(t, "bash", "-c", script) }

// runHelper is the shell command that runs a helper.
func runHelper(mode string) string { return helperEnv + "=" + mode + ` "$HELPER"` }

func (p *prog) line() string {
	p.t.Helper()
	text, err := p.lines.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSpace(text)
}

func (p *prog) pid() int { return p.Process.Pid }

// printed is the id that the program prints.
func (p *prog) printed() int {
	p.t.Helper()
	n, err := strconv.Atoi(p.line())
	require.NoError(p.t, err)
	return n
}

// goOn sends a line.
func (p *prog) goOn() {
	p.t.Helper()
	_, err := io.WriteString(p.in, "\n")
	require.NoError(p.t, err)
}

func newTable(t testing.TB, o Options) *Table {
	t.Helper()
	table, err := New(o)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	return table
}

func who(t *Table, pid int) *protocol.Party    { return t.Who(uint32(pid), 0, 0) }
func opener(t *Table, pid int) *protocol.Party { return t.Opener(uint32(pid), 0, 0) }

// waitEnded waits until the party is at least a zombie.
func waitEnded(t *testing.T, table *Table, id protocol.PartyID) {
	t.Helper()
	require.Eventually(t, func() bool { return table.Ended(id) }, patience, tick)
}
