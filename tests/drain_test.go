package tests

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// terminate sends SIGTERM and waits until the drain begins.
func (m *Mount) terminate() {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(m.pid(), syscall.SIGTERM))
	m.untilLogged("draining")
}

func TestDrain(t *testing.T) {
	m := mount(t, "--drain", "10m")
	m.Must("printf text | tee f g h")
	worker, writer, stranger := m.Client(), m.Client(), m.Client()
	worker.OK("open f f r")
	writer.OK("open w new wct", "write w half")
	m.terminate()
	m.untilLogged("has claimed f")
	m.untilLogged("is writing new")

	// Nothing new begins, and all is seen.
	require.Equal(t, "4 bytes, 1 links", stranger.Call("stat", "g"))
	for _, call := range []string{"open n g r", "open n other wct", "open n g wt", "rename g g.tmp"} {
		words := strings.Fields(call)
		require.Equal(t, "EBUSY", stranger.Call(toAny(words)...), call)
	}
	stranger.OK("unlink h", "rename g i") // what is done at once is done
	require.Equal(t, []string{"i"}, m.List("."))
	require.Contains(t, m.Must("%s status .", binary), "the mount is ending: what is under way may finish until")
	var s report.Status
	require.NoError(t, json.Unmarshal([]byte(m.Must("cat .airlockfs/status")), &s))
	require.False(t, s.Draining.IsZero())
	require.Contains(t, m.Must("%s events .", binary), "open: the mount is ending; try again when it is mounted anew")

	// What is under way finishes, with all that this takes.
	worker.OK("open o result wct", "write o done", "close o", "unlink f")
	require.False(t, m.dead())
	writer.OK("write w +half", "close w")
	m.waitEnd()
	require.Equal(t, "done half+half text", content(t, m.Below("result"))+" "+content(t, m.Below("new"))+" "+content(t, m.Below("i")))
}

func toAny(words []string) (all []any) {
	for _, w := range words {
		all = append(all, w)
	}
	return all
}

// TestDrainOfAnIdleMountTakesNoTime, though a shell stands in it.
func TestDrainOfAnIdleMountTakesNoTime(t *testing.T) {
	m := mount(t, "--drain", "10m")
	require.Equal(t, "0 bytes, 2 links", m.Client().Call("stat", ".airlockfs"))
	m.terminate()
	m.waitEnd()
	require.False(t, mounted(m.Dir))
}

// TestDrainIsBounded: what is not finished in time is as after any other end of the daemon.
func TestDrainIsBounded(t *testing.T) {
	m := mount(t, "--drain", "100ms")
	m.Must("printf text > f")
	worker := m.Client()
	worker.OK("open f f r", "open w new wct")
	m.terminate()
	m.waitEnd()
	log := m.log.String()
	require.Regexp(t, `the time of --drain is over(?s:.*)cut off.* has claimed f"(?s:.*)cut off.* is writing new"(?s:.*)msg=unmounted`, log)
	m.start()
	require.Equal(t, "quarantined", m.State("new"))
	require.Equal(t, "ENOENT", m.Client().Call("open", "f", "f", "r"))
	worker.OK("chdir "+m.Dir, "unlink f")
}

func TestASecondSignalEndsADrain(t *testing.T) {
	m := mount(t, "--drain", "10m")
	m.Must("printf text > f")
	worker := m.Client()
	worker.OK("open f f r")
	m.terminate()
	m.Until("it ends", func() bool {
		_ = syscall.Kill(m.daemon.Process.Pid, syscall.SIGTERM) // the first ones count as the same wish
		return m.dead()
	})
	var exit *exec.ExitError
	err := <-m.exited
	m.exited <- err
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 5, exit.ExitCode())
	m.start()
	worker.OK("chdir "+m.Dir, "open f f r")
}
