package servers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// Mount is a mount of a fresh backing with a folder "in" that everybody may write to.
type Mount struct {
	t            *testing.T
	Dir, Backing string
	daemon       *Process
	net          *Network // where its servers are, if not in the machine's
}

func mount(t *testing.T, flags ...string) *Mount {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Dir: scratch(t), Backing: scratch(t)}
	if *plain {
		flags = []string{"--rule", "**=plain"}
	}
	flags = append(append([]string{"mount", "-f", "--log-level", "debug"}, flags...), m.Backing, m.Dir)
	m.daemon = start(t, nil, binary, flags...)
	until(t, "the mount is there", func() bool { return m.mounted() || m.daemon.Ended() })
	require.True(t, m.mounted(), "the daemon gave up: %s", m.daemon.Output())
	t.Cleanup(m.end)
	m.Must("mkdir in && chmod 777 in")
	return m
}

// scratch is a folder that every user may enter. It is below /run, because sshd wants nobody but root to be able to
// write to any folder above a ChrootDirectory.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "airlockfs-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func (m *Mount) mounted() bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+m.Dir+" ")
}

// end unmounts: nothing may be left, and nothing that `airlockfs check` finds.
func (m *Mount) end() {
	if m.t.Failed() {
		m.t.Logf("the daemon's log:\n%s", m.daemon.Output())
		_ = syscall.Unmount(m.Dir, syscall.MNT_DETACH)
		return
	}
	until(m.t, "the mount is not busy any more", func() bool { return syscall.Unmount(m.Dir, 0) == nil })
	require.Zero(m.t, m.daemon.Wait(), m.daemon.Output())
	check := start(m.t, nil, binary, "check", m.Backing)
	require.Zero(m.t, check.Wait(), "airlockfs check: %s", check.Output())
}

// Start starts a bash script in the mount, in a session of its own: a stranger to everybody else. Its input is a pipe.
func (m *Mount) Start(script string) *Process {
	return start(m.t, []string{"M=" + m.Dir}, "timeout", "-s", "KILL", "60", "bash", "-c", `cd "$M" || exit; `+script)
}

// Run runs a script to its end and gives its output.
func (m *Mount) Run(script string) (out string, status int) {
	m.t.Helper()
	p := m.Start(script)
	status = p.Wait()
	return strings.TrimSpace(p.Output()), status
}

// Must is Run that must end with 0.
func (m *Mount) Must(script string) string {
	m.t.Helper()
	out, status := m.Run(script)
	require.Zero(m.t, status, "%s\n%s", script, out)
	return out
}

// Item is the newest item of a path that is not, or not only, public.
func (m *Mount) Item(path string) item {
	m.t.Helper()
	var s report.Status
	require.NoError(m.t, json.Unmarshal([]byte(m.Must("cat .airlockfs/status")), &s))
	var newest item
	for _, i := range s.Items {
		if i.Path == path {
			newest = item{i}
		}
	}
	return newest
}

// Until waits for the state of a path's item; "" if it is to have none.
func (m *Mount) Until(path, state string) item {
	m.t.Helper()
	var i item
	until(m.t, path+" is "+state, func() bool { i = m.Item(path); return i.State == state })
	return i
}

// HalfWay waits until some bytes of a file have come, and nobody sees it.
func (m *Mount) HalfWay(path string) item {
	m.t.Helper()
	var i item
	until(m.t, path+" is half-way", func() bool { i = m.Item(path); return i.State == "staged" && i.Size > 0 })
	m.Invisible(path)
	return i
}

// Appears waits until a stranger sees a file.
func (m *Mount) Appears(path string) {
	m.t.Helper()
	until(m.t, path+" is there", func() bool { _, status := m.Run("[ -e " + path + " ]"); return status == 0 })
}

// Invisible is what a stranger must find: no such name, neither in the list nor by a look.
func (m *Mount) Invisible(path string) {
	m.t.Helper()
	m.Unlisted(path)
	require.Empty(m.t, m.Must("[ ! -e "+path+" ]"))
}

// Unlisted is what a stranger must find of a name that its user may come back for.
func (m *Mount) Unlisted(path string) {
	m.t.Helper()
	require.NotContains(m.t, strings.Fields(m.Must("ls -A "+filepath.Dir(path))), filepath.Base(path))
}

type item struct{ report.Item }

// kill kills the process that holds the item.
func (i item) kill(t *testing.T) {
	t.Helper()
	require.NotNil(t, i.Owner)
	require.Greater(t, i.Owner.PID, 1)
	require.NoError(t, syscall.Kill(i.Owner.PID, syscall.SIGKILL))
}
