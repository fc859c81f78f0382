package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// Airlock runs the program under test as a user would, in the mount, as a stranger; "$A" in a script is the same.
func (m *Mount) Airlock(args string) result {
	m.t.Helper()
	return m.Run("%s %s", quote(binary), args)
}

// Item is the one item of a path that status shows.
func (m *Mount) Item(path string) report.Item {
	m.t.Helper()
	items := m.Status()[path]
	require.Len(m.t, items, 1, path)
	return items[0]
}

// TestLingerCountsFromTheLastClose: a claim that was in use until now lingers from now on, however long that was.
func TestLingerCountsFromTheLastClose(t *testing.T) {
	const linger = 2 * time.Second
	m := mount(t, "--linger", linger.String())
	m.Must("echo x > f")
	c := m.Client()
	c.OK("open r f r")
	claimed := m.Item("f").Since
	m.Until("it was in use for longer than a claim lingers", func() bool { return time.Since(claimed) > linger })
	c.OK("close r")
	m.Must("true") // a shell later, it is there still
	require.Equal(t, "claimed", m.State("f"))
}

func TestStatusWarnsOfAClaimThatNobodyUses(t *testing.T) {
	m := mount(t, "--linger", "10m")
	never := mountAlone(t, "--linger", "1s")
	for _, m := range []*Mount{m, never} {
		m.Must("echo x > used; echo x > idle")
	}
	c := m.Client()
	c.OK("open r idle r", "close r", "open r used r")
	require.Empty(t, m.Item("idle").Warning, "too early")
	i := m.Item("idle")
	require.Equal(t, 10*time.Minute, i.Until.Sub(i.Used))

	c = never.Client()
	c.OK("open r idle r", "close r", "open r used r")
	never.Until("it warns", func() bool {
		items := never.Status()["idle"]
		return len(items) > 0 && strings.Contains(items[0].Warning, "not used for") && strings.Contains(items[0].Warning, "after 1s it comes back")
	})
	require.Empty(t, never.Item("used").Warning, "it is open")
}

func TestStatusWarnsOfWhatIsHiddenForLong(t *testing.T) {
	m := mount(t, "--abandoned-after", "1s", "--rule", "held/**=queue,publish=rename")
	m.Must("mkdir held; echo x > held/f")
	p := m.Start("exec 3>f; read _")
	m.Until("it warns of both", func() bool {
		return strings.Count(m.Airlock("status .").Out, "warning: ") == 2
	})
	out := m.Airlock("status .").Out
	require.Contains(t, out, "warning: f: hidden for")
	require.Contains(t, out, "warning: held/f: held back for")
	p.Say()
	p.Wait()
}

func TestStatusOfAPath(t *testing.T) {
	m := mount(t)
	m.Must("mkdir a ab")
	p := m.Start("exec 3>a/f 4>ab/f; read _")
	m.Until("both are there", func() bool { return len(m.Status()) == 2 })
	require.Regexp(t, `(?s)^STATE.*staged +a/f .*\n1 staged\n$`, m.Airlock("status a").Out)
	require.NotContains(t, m.Airlock("status a").Out, "ab/f")
	require.Equal(t, "nothing is hidden, claimed, held back or in quarantine\n", m.Run("mkdir empty; %s status empty", quote(binary)).Out)
	none := m.Airlock("status a/none")
	require.Equal(t, 1, none.Code, none.Out)
	require.Contains(t, none.Out, "you see nothing under the name a/none")
	require.Contains(t, m.Airlock("status a ab/f").Out, "2 staged")
	other := mountAlone(t)
	r := m.Airlock("status a " + other.Dir)
	require.Equal(t, 2, r.Code, r.Out)
	p.Say()
	p.Wait()
}

// TestStatusOnATerminal: colours and a width there, and nothing of that elsewhere.
func TestStatusOnATerminal(t *testing.T) {
	m := mount(t)
	m.Run("exec 3>a-name-that-is-not-short; echo x >&3; exit 3")
	on := func(env, args string) string {
		return m.Must(`%s script -qec "stty cols 72 rows 9; %s status %s ." /dev/null </dev/null`, env, binary, args)
	}
	require.Contains(t, on("TERM=xterm", ""), "\x1b[31mquarantined\x1b[0m")
	for _, env := range []string{"TERM=dumb", "TERM=", "NO_COLOR=1 TERM=xterm"} {
		require.NotContains(t, on(env, ""), "\x1b", env)
		for line := range strings.Lines(on(env, "")) {
			require.LessOrEqual(t, len([]rune(strings.TrimSpace(line))), 72, line)
		}
	}
	require.NotContains(t, on("TERM=xterm", "--color never"), "\x1b")
	require.Contains(t, on("TERM=dumb", "--color always"), "\x1b[31m")
	require.NotContains(t, m.Airlock("status .").Out, "\x1b")
}

// TestStatusWatch: a page each time, and an end in order when it is interrupted.
func TestStatusWatch(t *testing.T) {
	m, dir := mount(t), scratch(t)
	w := m.Start("exec 3>f; read _")
	m.Until("the file is there", func() bool { return m.State("f") == "staged" })
	for _, c := range []struct{ command, page, end string }{
		{quote(binary) + " status --watch 0.05 . >%s", "\n1 staged\n", "INT"},
		{"env TERM=xterm script -qefc 'exec " + binary + " status --watch=0.05 .' %s >/dev/null", "\x1b[H", ""},
		{quote(binary) + " status --watch=1m --json . >%s", `"state": "staged"`, "TERM"},
	} {
		file := filepath.Join(dir, "out"+c.end)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		p := m.Start("exec "+c.command, file)
		pages := 2
		if strings.Contains(c.command, "1m") {
			pages = 1
		}
		m.Until("it has printed its pages: "+c.page, func() bool { return strings.Count(content(t, file), c.page) >= pages })
		if c.end == "" {
			_, err := p.in.WriteString("\x03") // what ^C types
			require.NoError(t, err)
		} else {
			m.Must("kill -%s %d", c.end, p.PID())
		}
		require.Zero(t, p.Wait().Code, c.command)
	}
	require.Contains(t, content(t, filepath.Join(dir, "out")), "\x1b[?25h", "the cursor is back")
	w.Say()
	w.Wait()
}
