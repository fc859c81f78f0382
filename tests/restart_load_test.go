package tests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	helpers["produce"] = produce
	helpers["consume"] = consume
}

// restarts is how often the daemon goes and comes back under load.
const restarts = 50

func TestI4_RestartsUnderLoadLoseNothingAndDeliverNothingTwice(t *testing.T) {
	m := mount(t)
	m.Must("mkdir q; printf text > claimed")
	steady := m.Client() // holds something all the time
	steady.OK("open c claimed r", "close c", "open t kept.tmp wct", "write t kept", "close t")
	require.Equal(t, "4 bytes, 1 links", steady.Call("stat", "kept.tmp"))
	steady.OK("chdir /")
	logs := scratch(t)
	var producers, consumers []*load
	for n := range 2 {
		producers = append(producers, m.load("produce", fmt.Sprint("p", n), filepath.Join(logs, fmt.Sprint("p", n))))
		consumers = append(consumers, m.load("consume", fmt.Sprint("c", n), filepath.Join(logs, fmt.Sprint("c", n))))
	}
	for n := range restarts {
		goal := m.progress(logs)
		m.Until("the load goes on", func() bool { return m.progress(logs) > goal+5 })
		ends[n%len(ends)].end(m)
		m.flags = ends[(n+1)%len(ends)].flags
		m.launch() // perhaps over a dead mount
		m.Until("it serves", m.serves)
	}
	m.checkSteady(steady)
	for _, p := range producers {
		p.finish()
	}
	m.Until("everything is consumed", func() bool { return m.Must("ls q") == "" })
	for _, c := range consumers {
		c.finish()
	}
	produced, consumed := logged(t, logs, "p"), logged(t, logs, "c")
	require.Greater(t, len(produced), restarts)
	for what, times := range consumed {
		require.Equal(t, 1, times, "%s was delivered again", what)
	}
	hidden := m.Status()
	for what := range produced {
		name, unsure := strings.CutPrefix(what, "?")
		if !unsure || hidden[name+".tmp"] == nil {
			require.Contains(t, consumed, name, "%s was lost", name)
		}
		delete(consumed, name)
	}
	require.Empty(t, consumed, "these came from nowhere")
}

// ends are the ways in which a daemon ends, and the flags that it was started with.
var ends = []struct {
	flags []string
	end   func(m *Mount)
}{
	{nil, (*Mount).crash},
	{nil, func(m *Mount) { // the dead mount stays
		m.signal(syscall.SIGKILL)
		<-m.exited
	}},
	{nil, func(m *Mount) {
		require.NoError(m.t, syscall.Unmount(m.Dir, syscall.MNT_DETACH))
		m.waitEnd()
	}},
	{nil, func(m *Mount) {
		m.signal(syscall.SIGTERM)
		m.waitEnd()
	}},
	{[]string{"--drain", "50ms"}, func(m *Mount) {
		m.signal(syscall.SIGTERM)
		m.waitEnd()
	}},
}

func (m *Mount) signal(sig syscall.Signal) {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(m.pid(), sig))
}

// checkSteady: who lived through all restarts has what he had.
func (m *Mount) checkSteady(steady *Client) {
	m.t.Helper()
	stranger := m.Client()
	require.Equal(m.t, "ENOENT", stranger.Call("unlink", "claimed"))
	require.Equal(m.t, "ENOENT", stranger.Call("rename", "kept.tmp", "stolen"))
	steady.OK("chdir "+m.Dir, "open c claimed r")
	require.Equal(m.t, "text", steady.Call("read", "c"))
	steady.OK("close c", "unlink claimed", "rename kept.tmp kept", "chdir /")
	require.Equal(m.t, "kept", m.Must("cat kept"))
}

// load is a helper that runs until its standard input ends.
type load struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
}

func (m *Mount) load(helper, name, log string) *load {
	m.t.Helper()
	cmd := exec.Command(os.Args[0], filepath.Join(m.Dir, "q"), name, log)
	cmd.Env = append(os.Environ(), "AIRLOCKFS_TEST_HELPER="+helper)
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, cmd.Start())
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &load{m.t, cmd, in}
}

func (l *load) finish() {
	l.t.Helper()
	l.in.Close()
	require.NoError(l.t, l.cmd.Wait())
}

// progress counts the deliveries consumed so far.
func (m *Mount) progress(logs string) int {
	n := 0
	for _, times := range logged(m.t, logs, "c") {
		n += times
	}
	return n
}

// logged counts the lines of the logs whose name starts so.
func logged(t *testing.T, logs, prefix string) map[string]int {
	t.Helper()
	lines := map[string]int{}
	files, err := filepath.Glob(filepath.Join(logs, prefix+"*"))
	require.NoError(t, err)
	for _, f := range files {
		for _, line := range strings.Fields(content(t, f)) {
			lines[line]++
		}
	}
	return lines
}

// stdinEnded is closed when the helper's standard input ends.
func stdinEnded() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}

func running(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// inFolder makes calls in a folder of the mount that is there now. It keeps nothing open, so that the mount can be
// unmounted.
func inFolder(dir string, do func(fd int) error) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errNoMount
	}
	defer unix.Close(fd)
	return do(fd)
}

var errNoMount = errors.New("there is no mount now")

// insist repeats a call until a daemon answers it. unsure: one ended before it answered, perhaps after it had acted.
func insist(dir string, do func(fd int) error) (unsure bool, err error) {
	for {
		err = inFolder(dir, do)
		if errors.Is(err, unix.EBUSY) { // the daemon is draining
			breathe()
			continue
		}
		if !unanswered(err) {
			return unsure, err
		}
		unsure = unsure || !errors.Is(err, errNoMount)
		breathe()
	}
}

// breathe keeps the load light: a millisecond for others.
func breathe() { _, _ = unix.Poll(nil, 1) }

// unanswered: the daemon ended before it answered, or there was none.
func unanswered(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, errNoMount)
}

// produce delivers items NAME-1, NAME-2, …, each once, and logs them. "?NAME-n": a daemon ended within its rename, and
// the temp name was gone afterwards.
func produce(args []string) int {
	p := producing{dir: args[0]}
	done := stdinEnded()
	for n := 1; running(done); n++ {
		breathe()
		p.item = fmt.Sprintf("%s-%d", args[1], n)
		line, err := p.deliver()
		if err == nil {
			err = appendLine(args[2], line)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "produce:", p.item, err)
			return 1
		}
	}
	return 0
}

type producing struct{ dir, item string }

func (p *producing) deliver() (string, error) {
	for {
		if _, err := insist(p.dir, p.write); err != nil {
			return "", err
		}
		unsure, err := insist(p.dir, p.rename)
		switch {
		case err == nil:
			return p.item, nil
		case !errors.Is(err, unix.ENOENT):
			return "", err
		case unsure:
			return "?" + p.item, nil
		} // else the daemon ended before it had seen the end of the temp file: it is written anew
	}
}

func (p *producing) write(folder int) error {
	fd, err := unix.Openat(folder, p.item+".tmp", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(p.item))
	return errors.Join(err, unix.Close(fd))
}

func (p *producing) rename(folder int) error {
	return unix.Renameat(folder, p.item+".tmp", folder, p.item)
}

// consume takes items: it logs what it got, once, and then removes the name.
func consume(args []string) int {
	c := consuming{log: args[2], taken: map[string]bool{}}
	done := stdinEnded()
	for running(done) {
		breathe()
		var names []string
		_, err := insist(args[0], func(folder int) (err error) {
			names, err = listFolder(folder)
			return err
		})
		for _, c.name = range names {
			if err == nil {
				_, err = insist(args[0], c.take)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "consume:", c.name, err)
			return 1
		}
	}
	return 0
}

type consuming struct {
	log, name string
	taken     map[string]bool // its content is logged
}

func (c *consuming) take(folder int) error {
	if !c.taken[c.name] {
		item, err := readFile(folder, c.name)
		if errors.Is(err, unix.ENOENT) {
			return nil // somebody else's
		}
		if err == nil {
			err = appendLine(c.log, item)
		}
		if err != nil {
			return err
		}
		c.taken[c.name] = true
	}
	if err := unix.Unlinkat(folder, c.name, 0); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil // removed before, by a daemon that could not say so
}

func listFolder(folder int) ([]string, error) {
	fd, err := unix.Openat(folder, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}

func readFile(folder int, name string) (string, error) {
	fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 256)
	n, err := unix.Pread(fd, b, 0)
	return string(b[:max(n, 0)]), err
}

func appendLine(log, line string) error {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
