package tests

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Client is a process, in a session of its own, that makes the system calls it is told, one at a time, and says with which
// errno each one ended. Shells can't: they look first, or hide the errno.
type Client struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string
}

func init() { helpers["client"] = clientMain }

// Client starts one, in the mount.
func (m *Mount) Client() *Client {
	m.t.Helper()
	c := &Client{t: m.t, cmd: exec.Command(os.Args[0]), answers: make(chan string, 1)}
	c.cmd.Dir, c.cmd.Stderr = m.Dir, os.Stderr
	c.cmd.Env = append(os.Environ(), "AIRLOCKFS_TEST_HELPER=client", "M="+m.Dir)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(m.t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, c.cmd.Start())
	go c.listen(out)
	m.t.Cleanup(c.Kill)
	return c
}

func (c *Client) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			close(c.answers)
			return
		}
		answer, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			answer = "the client says " + line
		}
		c.answers <- answer
	}
}

// PID is the client's process id.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// Kill kills the client and waits for its end. It may be called again.
func (c *Client) Kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// Begin makes a call and does not wait for its end.
func (c *Client) Begin(words ...any) {
	c.t.Helper()
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%q ", fmt.Sprint(w))
	}
	_, err := io.WriteString(c.in, b.String()+"\n")
	require.NoError(c.t, err)
}

// End waits for the end of the call that was begun: what it gave, or the name of its errno.
func (c *Client) End() string {
	c.t.Helper()
	select {
	case a, ok := <-c.answers:
		require.True(c.t, ok, "the client ended")
		return a
	case <-time.After(patience):
		c.Kill()
		c.t.Fatal("the client's call does not end")
		return ""
	}
}

// Call makes a call.
func (c *Client) Call(words ...any) string {
	c.t.Helper()
	c.Begin(words...)
	return c.End()
}

// OK makes calls that give nothing and must not fail. Each is a line of words.
func (c *Client) OK(calls ...string) {
	c.t.Helper()
	for _, call := range calls {
		var words []any
		for _, w := range strings.Fields(call) {
			words = append(words, w)
		}
		require.Empty(c.t, c.Call(words...), call)
	}
}

// Blocked tells whether the call that was begun has not ended.
func (c *Client) Blocked() bool { return len(c.answers) == 0 }

// clientFiles are the client's descriptors, by the names the test gave them.
type clientFiles map[string]int

// get is -1 for a descriptor that was never opened: the call answers EBADF.
func (f clientFiles) get(name string) int {
	if fd, ok := f[name]; ok {
		return fd
	}
	return -1
}

// clientMain is the client: it reads calls and answers each with a quoted line.
func clientMain([]string) int {
	files := clientFiles{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		out, err := clientCall(files, clientWords(lines.Text()))
		if err != nil {
			out = err.Error()
			if errno, ok := err.(syscall.Errno); ok {
				out = unix.ErrnoName(errno)
			}
		}
		fmt.Printf("%q\n", out)
	}
	return 0
}

func clientWords(line string) []string {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		q, err := strconv.QuotedPrefix(line)
		if err != nil {
			panic(err)
		}
		w, _ := strconv.Unquote(q)
		words, line = append(words, w), line[len(q):]
	}
	return words
}

func clientCall(files clientFiles, w []string) (string, error) {
	if more := clientMoreCalls[w[0]]; more != nil {
		return more(files, w)
	}
	switch w[0] {
	case "open": // open AS PATH FLAGS
		fd, err := unix.Open(w[2], clientFlags(w[3]), clientMode(w[3]))
		for err == unix.EINTR { // the runtime's own signals, as package os does
			fd, err = unix.Open(w[2], clientFlags(w[3]), clientMode(w[3]))
		}
		if err == nil {
			files[w[1]] = fd
		}
		return "", err
	case "close":
		return "", unix.Close(files.get(w[1]))
	case "dup":
		fd, err := unix.Dup(files.get(w[1]))
		files[w[2]] = fd
		return "", err
	case "read": // all of it
		b := make([]byte, 1<<16)
		n, err := unix.Pread(files.get(w[1]), b, 0)
		return string(b[:max(n, 0)]), err
	case "write":
		_, err := unix.Write(files.get(w[1]), []byte(w[2]))
		return "", err
	case "ftruncate":
		return "", unix.Ftruncate(files.get(w[1]), clientNumber(w[2]))
	case "fstat": // what the daemon says now, not what the kernel remembers
		var st unix.Statx_t
		err := unix.Statx(files.get(w[1]), "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &st)
		return fmt.Sprintf("%d bytes, %d links", st.Size, st.Nlink), err
	case "stat":
		var st unix.Stat_t
		err := unix.Lstat(w[1], &st)
		return fmt.Sprintf("%d bytes, %d links", st.Size, st.Nlink), err
	case "xattr":
		b := make([]byte, 1024)
		n, err := unix.Getxattr(w[1], w[2], b)
		return string(b[:max(n, 0)]), err
	case "flock":
		err := unix.Flock(files.get(w[1]), map[string]int{"ex": 2, "sh": 1, "un": 8, "exnb": 6, "shnb": 5}[w[2]])
		for err == unix.EINTR {
			err = unix.Flock(files.get(w[1]), map[string]int{"ex": 2, "sh": 1}[w[2]])
		}
		return "", err
	case "lock":
		return clientLockCall(files.get(w[1]), w[2], w[3], clientNumber(w[4]), clientNumber(w[5]))
	}
	return "", clientNameCall(w)
}

func clientNameCall(w []string) error {
	switch w[0] {
	case "chdir":
		return unix.Chdir(w[1])
	case "mkdir":
		return unix.Mkdir(w[1], 0o755)
	case "rmdir":
		return unix.Rmdir(w[1])
	case "unlink":
		return unix.Unlink(w[1])
	case "link":
		return unix.Link(w[1], w[2])
	case "rename":
		return unix.Rename(w[1], w[2])
	case "noreplace":
		return unix.Renameat2(unix.AT_FDCWD, w[1], unix.AT_FDCWD, w[2], unix.RENAME_NOREPLACE)
	case "exchange":
		return unix.Renameat2(unix.AT_FDCWD, w[1], unix.AT_FDCWD, w[2], unix.RENAME_EXCHANGE)
	case "setxattr":
		return unix.Setxattr(w[1], w[2], []byte(w[3]), 0)
	case "truncate":
		return unix.Truncate(w[1], clientNumber(w[2]))
	}
	return fmt.Errorf("no such call: %q", w)
}

// clientLockCall is fcntl(2): who is "posix" or "ofd", how "r" "w" "u" (F_SETLK), "R" "W" (F_SETLKW) or "?" (F_GETLK for
// writing: "free", or the holder's pid and range).
func clientLockCall(fd int, who, how string, start, n int64) (string, error) {
	set, wait, get := unix.F_SETLK, unix.F_SETLKW, unix.F_GETLK
	if who == "ofd" {
		set, wait, get = unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_OFD_GETLK
	}
	l := unix.Flock_t{Start: start, Len: n, Type: map[string]int16{"r": unix.F_RDLCK, "w": unix.F_WRLCK, "u": unix.F_UNLCK,
		"R": unix.F_RDLCK, "W": unix.F_WRLCK, "?": unix.F_WRLCK}[how]}
	switch how {
	case "?":
		err := unix.FcntlFlock(uintptr(fd), get, &l)
		if err != nil || l.Type == unix.F_UNLCK {
			return "free", err
		}
		return fmt.Sprintf("pid %d locks %d+%d", l.Pid, l.Start, l.Len), nil
	case "R", "W":
		return "", unix.FcntlFlock(uintptr(fd), wait, &l)
	}
	return "", unix.FcntlFlock(uintptr(fd), set, &l)
}

// clientFlags: r w rw, then c O_CREAT, x O_EXCL, t O_TRUNC, a O_APPEND, n O_NONBLOCK.
func clientFlags(s string) int {
	flags := unix.O_CLOEXEC
	switch {
	case strings.HasPrefix(s, "rw"):
		flags |= unix.O_RDWR
	case strings.HasPrefix(s, "w"):
		flags |= unix.O_WRONLY
	}
	for letter, flag := range map[string]int{"c": unix.O_CREAT, "x": unix.O_EXCL, "t": unix.O_TRUNC, "a": unix.O_APPEND, "n": unix.O_NONBLOCK} {
		if strings.Contains(s, letter) {
			flags |= flag
		}
	}
	return flags
}

// clientMode: m makes it 0600, as mkstemp(3) does.
func clientMode(s string) uint32 {
	if strings.Contains(s, "m") {
		return 0o600
	}
	return 0o644
}

func clientNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
