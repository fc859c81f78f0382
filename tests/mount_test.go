package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// patience bounds every wait for something that must happen. A test that needs it all has failed. Where tests are meant
// to fail (scripts/red.sh, scripts/mutants.sh) it is short.
var patience time.Duration

// Mount is a mount of a fresh backing, served by the binary under test in a process of its own. When its test ends it is
// unmounted, and nothing may be left (end).
type Mount struct {
	t       *testing.T
	Backing string
	Dir     string
	flags   []string
	under   []string // a command that starts the daemon as its one child, if any
	fail    string   // what the disk is to refuse (failpoint.Parse), if the binary is one that can be told
	env     []string // what the daemon has in its environment beside ours
	user    uint32   // whose mount it is; 0: root's. Whoever does anything on it is he
	daemon  *exec.Cmd
	log     *output
	exited  chan error
}

// output is what a process has written so far, to be read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// mount mounts a fresh backing. Its test runs beside others.
func mount(t *testing.T, flags ...string) *Mount {
	t.Helper()
	t.Parallel()
	return mountAlone(t, flags...)
}

// mountAlone is mount for a test that measures time, or changes something for the whole machine: nothing else is tested
// meanwhile. A test's second mount is made by it, too.
func mountAlone(t *testing.T, flags ...string) *Mount {
	t.Helper()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: flags}
	m.start()
	t.Cleanup(m.end)
	return m
}

// scratch is a folder that every user may enter, on tmpfs where there is one.
func scratch(t *testing.T) string {
	t.Helper()
	root := ""
	if _, err := os.Stat("/dev/shm"); err == nil {
		root = "/dev/shm"
	}
	dir, err := os.MkdirTemp(root, "airlockfs-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("scratch folder is left behind: %v", err)
		}
	})
	return dir
}

// start starts the daemon and waits until it serves.
func (m *Mount) start() {
	m.t.Helper()
	m.launch()
	require.Eventually(m.t, func() bool { return mounted(m.Dir) || m.dead() }, patience, 2*time.Millisecond, "the mount never came")
	require.True(m.t, mounted(m.Dir), "the daemon gave up: %s", m.log)
	require.True(m.t, m.serves(), "the daemon does not serve: %s", m.log)
}

// serves: the kernel shows the mount before the daemon serves it; an unmount right then would be a mount that failed.
func (m *Mount) serves() bool {
	return m.command("timeout", "-s", "KILL", "20", "stat", "-L", m.Path(".airlockfs/mount")).Run() == nil
}

// launch starts the daemon.
func (m *Mount) launch() {
	m.t.Helper()
	args := append([]string{"mount", "-f"}, m.flags...)
	if *plain {
		args = append(withoutRules(args), "--rule", "**=plain")
	}
	program, env := binary, os.Environ()
	if m.fail != "" {
		program, env = failing(), append(env, "AIRLOCKFS_FAIL="+m.fail)
	}
	args = slices.Concat(m.under, []string{program}, args, []string{m.Backing, m.Dir})
	m.daemon = exec.Command(args[0], args[1:]...)
	m.log = &output{}
	m.daemon.Stdout, m.daemon.Stderr = m.log, m.log
	m.daemon.Env = append(env, m.env...)
	m.daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(m.t, m.daemon.Start())
	m.exited = make(chan error, 1)
	daemon, exited := m.daemon, m.exited
	go func() { exited <- daemon.Wait() }()
}

// pid is the daemon's process id.
func (m *Mount) pid() int {
	if len(m.under) == 0 {
		return m.daemon.Process.Pid
	}
	child, err := strconv.Atoi(strings.TrimSpace(m.children(m.daemon.Process.Pid)))
	require.NoError(m.t, err)
	return child
}

// children are the process ids of a process's children (proc_pid_task(5)).
func (m *Mount) children(pid int) string {
	m.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	require.NoError(m.t, err)
	return string(b)
}

// withoutRules leaves out every --rule and --config, and their values.
func withoutRules(args []string) []string {
	var kept []string
	for n := 0; n < len(args); n++ {
		if args[n] == "--rule" || args[n] == "--config" {
			n++
			continue
		}
		kept = append(kept, args[n])
	}
	return kept
}

func (m *Mount) dead() bool {
	select {
	case err := <-m.exited:
		m.exited <- err
		return true
	default:
		return false
	}
}

// mounted asks the kernel's table; it touches no mount.
func mounted(dir string) bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+dir+" ")
}

// stop unmounts and waits for the daemon's end.
func (m *Mount) stop() {
	m.t.Helper()
	require.Eventually(m.t, func() bool { return syscall.Unmount(m.Dir, 0) == nil || !mounted(m.Dir) }, patience, 5*time.Millisecond,
		"the mount stays busy: %s", m.log)
	m.waitEnd()
}

// waitEnd is patient: another test's mount namespace has a copy of this mount as long as it lives, and so does the daemon.
func (m *Mount) waitEnd() {
	m.t.Helper()
	select {
	case err := <-m.exited:
		m.exited <- err
		require.NoError(m.t, err, "the daemon's log: %s", m.log)
	case <-time.After(3 * patience):
		_ = m.daemon.Process.Kill()
		m.t.Fatalf("the daemon does not end after the unmount: %s", m.log)
	}
}

// command is a command of the mount's user.
func (m *Mount) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if m.user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: m.user, Gid: m.user}}
	}
	return cmd
}

// crash kills the daemon and detaches the dead mount.
func (m *Mount) crash() {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(m.pid(), syscall.SIGKILL))
	<-m.exited
	m.exited <- nil
	require.NoError(m.t, syscall.Unmount(m.Dir, syscall.MNT_DETACH))
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// Path is a name below the mount; Below is the same in the backing.
func (m *Mount) Path(name string) string  { return filepath.Join(m.Dir, name) }
func (m *Mount) Below(name string) string { return filepath.Join(m.Backing, name) }

// Until waits for a state, looking as often as it can.
func (m *Mount) Until(what string, ok func() bool) {
	m.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		require.True(m.t, time.Now().Before(end), "never happened: %s\n%s", what, tail(m.log.String(), 2000))
	}
}

// Status is the control file "status", by path: what `airlockfs status --json` prints. A process of its own reads it, as
// everything that touches the mount is done by one.
func (m *Mount) Status() map[string][]report.Item {
	m.t.Helper()
	var s report.Status
	out, err := m.command("timeout", "-s", "KILL", "20", "cat", m.Path(".airlockfs/status")).Output()
	require.NoError(m.t, err)
	require.NoError(m.t, json.Unmarshal(out, &s))
	all := map[string][]report.Item{}
	for _, i := range s.Items {
		all[i.Path] = append(all[i.Path], i)
	}
	return all
}

// State is the state of the one item of a path, "" if there is none that status shows.
func (m *Mount) State(path string) string {
	m.t.Helper()
	items := m.Status()[path]
	if len(items) == 0 {
		return ""
	}
	return items[len(items)-1].State
}

// Holder is the program that holds the item of a path.
func (m *Mount) Holder(path string) string {
	m.t.Helper()
	i := m.Item(path)
	require.NotNil(m.t, i.Owner, path)
	return i.Owner.Program
}

// List is what a stranger sees in a folder.
func (m *Mount) List(folder string) []string {
	m.t.Helper()
	return strings.Fields(m.Must("ls -A %s", quote(folder)))
}
