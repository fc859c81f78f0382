package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// follow starts `airlockfs events --follow` as a user, and gives what it has printed so far.
func (m *Mount) follow(uid uint32, args string) (p *Process, printed func() string) {
	m.t.Helper()
	file := filepath.Join(scratch(m.t), "events")
	require.NoError(m.t, os.WriteFile(file, nil, 0o666))
	require.NoError(m.t, os.Chmod(file, 0o666))
	p = m.StartAs(uid, "cd /; exec %s events --follow %s %s >%s", quote(binary), args, m.Dir, file)
	return p, func() string { return content(m.t, file) }
}

// TestEventsFollow: what happens is told, each event once and in order, until the follower is interrupted.
func TestEventsFollow(t *testing.T) {
	m := mount(t)
	m.Must("mkdir d; echo x > before")
	p, printed := m.follow(0, "--json")
	m.Until("it tells of what was before", func() bool { return strings.Contains(printed(), `"published"`) })
	m.Must("for n in {1..300}; do echo x > d/f$n; done")
	m.Until("it tells of the last one", func() bool { return strings.Contains(printed(), `"path":"d/f300","what":"published"`) })
	last, published := uint64(0), 0
	for line := range strings.Lines(printed()) {
		var e report.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.Equal(t, last+1, e.Seq)
		last = e.Seq
		if e.What == "published" {
			published++
		}
	}
	require.Equal(t, 301, published)
	m.Must("kill -INT %d", p.PID())
	require.Zero(t, p.Wait().Code)
}

// TestEventsFollowTellsOfAGap: a follower that is stopped while more happens than is remembered hears how much it missed.
func TestEventsFollowTellsOfAGap(t *testing.T) {
	m := mount(t)
	m.Must("echo x > f")
	p, printed := m.follow(0, "")
	m.Until("it follows", func() bool { return strings.Contains(printed(), "published") })
	m.Must("kill -STOP %d", p.PID())
	m.Until("the mount has forgotten something", func() bool {
		m.Must("for n in {1..500}; do echo x > g; done")
		return strings.Contains(m.Must("cat .airlockfs/events@2"), `"dropped":`) && !strings.Contains(m.Must("cat .airlockfs/events@2"), `"dropped":0,`)
	})
	m.Must("kill -CONT %d", p.PID())
	m.Until("it tells of the gap", func() bool { return strings.Contains(printed(), "events were dropped") })
}

// TestEventsFollowDoesNotKeepTheMount: it can be unmounted meanwhile, and the follower then ends.
func TestEventsFollowDoesNotKeepTheMount(t *testing.T) {
	m := mount(t)
	m.Must("echo x > f")
	p, printed := m.follow(0, "")
	m.Until("it follows", func() bool { return strings.Contains(printed(), "published") })
	busy := 0
	for syscall.Unmount(m.Dir, 0) != nil {
		busy++
		require.Less(t, busy, 100)
	}
	require.Equal(t, 4, p.Wait().Code)
	require.Contains(t, p.Wait().Out, "is not mounted any more")
}

// TestEventsOfAUser: he hears of what he did, and of what was done to what is his, and nothing of others.
func TestEventsOfAUser(t *testing.T) {
	const hers, his = 12345, 54321
	m := mount(t)
	m.Must("mkdir -m 777 d")
	_, printed := m.follow(his, "")
	for uid, name := range map[uint32]string{hers: "hers", his: "his"} {
		require.Zero(t, m.RunAs(uid, "echo x > d/%s", name).Code)
	}
	w := m.StartAs(hers, "exec 3>d/secret; read _")
	m.Until("she writes", func() bool { return m.State("d/secret") == "staged" })
	require.NotZero(t, m.RunAs(his, "exec 3>d/secret").Code)
	require.NotZero(t, m.RunAs(his, "exec 3>d/broken; echo x >&3; exit 3").Code)
	m.Until("he hears of his own", func() bool {
		return strings.Contains(printed(), "quarantined") && strings.Contains(printed(), "met the unfinished file of another user since")
	})
	require.NotContains(t, printed(), "d/hers")
	require.NotContains(t, printed(), fmt.Sprint(w.PID()))
	require.Contains(t, m.Airlock("events .").Out, fmt.Sprint("met the unfinished file of pid ", w.PID()))
	w.Say()
	w.Wait()
}

// TestI8_ControlFilesCannotBeChanged: not by root either; nor does the folder of the backing change in their stead.
func TestI8_ControlFilesCannotBeChanged(t *testing.T) {
	m := mount(t)
	for _, call := range []string{"chmod 600", "chown 1", "touch -d yesterday", "truncate -s 0", "setfattr -n user.x -v y", "rm", "chmod 777"} {
		for _, file := range []string{"", "/status", "/events", "/events@0"} {
			require.NotZero(t, m.Run("%s .airlockfs%s", call, file).Code, "%s %s", call, file)
		}
	}
	for _, root := range []string{m.Dir, m.Backing} {
		require.Equal(t, "755 0", m.Must(`stat -c '%%a %%u' %s`, root))
	}
	require.Equal(t, "444", m.Must("ls -l %[1]s >/dev/null && stat -c %%a %[1]s", ".airlockfs/events@0"))
}
