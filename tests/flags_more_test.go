package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinger: a claim that nobody uses comes back after so long; after 0, never.
func TestLinger(t *testing.T) {
	short, never := mount(t, "--linger", "50ms"), mountAlone(t, "--linger", "50ms", "--linger", "0")
	for _, m := range []*Mount{never, short} {
		m.Must("echo x > f")
		c := m.Client()
		c.OK("open r f r", "close r")
		if m == never {
			require.Equal(t, "claimed", m.State("f"))
		}
	}
	short.Until("the claim is back", func() bool { return short.Run("cat f").Code == 0 })
	require.Equal(t, "claimed", never.State("f"), "though it is older")
	short.Until("it is logged", func() bool { return strings.Contains(short.log.String(), "nobody used it") })
}

// TestAbandonedAfter: what nobody came back for is in quarantine after so long.
func TestAbandonedAfter(t *testing.T) {
	leave := `echo x > parked.tmp; setsid -w sh -c 'exec 3>abandoned.tmp; kill -9 $$'; true`
	m := mount(t, "--abandoned-after", "1ms")
	m.Must("%s", leave)
	m.Until("both are in quarantine", func() bool {
		return m.State("parked.tmp") == "quarantined" && m.State("abandoned.tmp") == "quarantined"
	})
	bare := mountAlone(t)
	bare.Must("%s", leave)
	require.Equal(t, []string{"parked"}, bare.states("parked.tmp"))
	require.Equal(t, []string{"abandoned"}, bare.states("abandoned.tmp"))
}

// TestSync counts the system calls that make something durable.
func TestSync(t *testing.T) {
	for mode, want := range map[string][2]int{"publish": {1, 0}, "full": {1, 1}, "none": {0, 0}} {
		t.Run(mode, func(t *testing.T) {
			m := mount(t, "--sync", mode)
			file := m.trace("fsync,fdatasync,renameat2")
			m.Must("echo x > f")
			require.Equal(t, []string{"f"}, m.List("."))
			m.Must("mv f g")
			trace := m.traced(file, `"g"`)
			parts := strings.Split(trace, "renameat2(")
			require.Len(t, parts, 3, trace)
			require.Equal(t, want[0], strings.Count(parts[0], "fdatasync("), "the bytes, before the first rename: %s", trace)
			require.Equal(t, want[1], strings.Count(parts[1], "fsync("), "the folder, after it: %s", trace)
		})
	}
}

// traced is what a trace says once it says a word.
func (m *Mount) traced(file, word string) string {
	m.t.Helper()
	var text string
	m.Until("the trace tells of "+word, func() bool {
		b, err := os.ReadFile(file)
		text = string(b)
		return err == nil && strings.Contains(text, word)
	})
	return text
}

// TestUnknownExit: a writer in a pid namespace that the daemon can't see ends with its file open.
func TestUnknownExit(t *testing.T) {
	for what, seen := range map[string]string{"publish": "f", "quarantine": ""} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: []string{"--unknown-exit", what}, under: []string{"unshare", "--pid", "--fork"}}
			m.start()
			t.Cleanup(m.end)
			require.Equal(t, 3, m.Run("exec 3>f; echo x >&3; exit 3").Code)
			require.Equal(t, seen, strings.Join(m.List("."), " "))
			require.Equal(t, seen == "", m.State("f") == "quarantined")
		})
	}
}

func TestRequireRefusesABackingThatCanNot(t *testing.T) {
	backing, dir := scratch(t), scratch(t)
	require.NoError(t, syscall.Mount("tmpfs", backing, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(backing, syscall.MNT_DETACH)) })
	out, code := refusal(t, backing, dir, "--require", "xattr,reflink")
	require.Equal(t, 6, code, out)
	require.Contains(t, out, "reflink")
	m := &Mount{t: t, Backing: backing, Dir: dir, flags: []string{"--require", "xattr,tmpfile"}}
	m.start()
	m.end()
}

func TestLog(t *testing.T) {
	file := filepath.Join(scratch(t), "log")
	require.NoError(t, os.WriteFile(file, []byte("earlier\n"), 0o600))
	m := mount(t, "--log", file)
	m.Until("the file says that it serves", func() bool { return strings.Contains(content(t, file), "msg=serving") })
	require.Regexp(t, "^earlier\n", content(t, file))
	require.NotContains(t, m.log.String(), "msg=serving")
}

func TestLogLevel(t *testing.T) {
	for _, l := range []struct {
		flags []string
		shown string
	}{
		{nil, "INFO WARN "},
		{[]string{"--log-level", "debug"}, "DEBUG INFO WARN "},
		{[]string{"-v"}, "DEBUG INFO WARN "},
		{[]string{"--log-level", "warn"}, "WARN "},
		{[]string{"--log-level", "error"}, ""},
	} {
		t.Run(strings.Join(l.flags, " "), func(t *testing.T) {
			m := mount(t, l.flags...)
			m.Run("exec 3>f; echo x >&3; exit 3")
			require.Equal(t, "quarantined", m.State("f"))
			m.stop() // then all it has printed is here
			shown := ""
			for _, level := range []string{"DEBUG", "INFO", "WARN", "ERROR"} {
				if strings.Contains(m.log.String(), "level="+level) {
					shown += level + " "
				}
			}
			require.Equal(t, l.shown, shown)
		})
	}
}

func TestLogFormat(t *testing.T) {
	m := mount(t, "--log-format", "json")
	m.untilLogged(`"level":"INFO","msg":"serving","backing":"` + m.Backing + `"`)
}

// TestForeground: without -f, mount returns when it serves, and the daemon is another process, which ends with the mount.
func TestForeground(t *testing.T) {
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), log: &output{}}
	out, err := exec.Command(binary, "mount", m.Backing, m.Dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.True(t, mounted(m.Dir))
	t.Cleanup(func() { _ = syscall.Unmount(m.Dir, syscall.MNT_DETACH) })
	daemon := m.facts().PID
	require.NotEmpty(t, commandLine(daemon))
	require.NoError(t, exec.Command(binary, "umount", m.Dir).Run())
	require.Empty(t, commandLine(daemon), "umount waits for the daemon's end")
	m.healthy()
}

// commandLine is how a process was started; "" if it has ended.
func commandLine(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // nor is it there after its parent has waited for it
	return string(b)
}
