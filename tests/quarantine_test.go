package tests

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fails is a script that leaves an item in quarantine.
func fails(name, write string) string { return "(exec 3>" + name + "; " + write + " >&3; exit 3)" }

// TestQuarantineKeep: what failed is kept for so long, counted from when it failed, across restarts and whatever its
// times say since.
func TestQuarantineKeep(t *testing.T) {
	m := mount(t, "--quarantine-keep", "1h")
	m.Run("%s", fails("f", "echo x"))
	before := m.Item("f")
	require.Equal(t, time.Hour, before.Until.Sub(before.Since))
	require.Empty(t, before.Warning)
	m.stop()
	bytes := m.Below(before.Bytes)
	require.NoError(t, os.Chmod(bytes, 0o640)) // its ctime is now
	require.NoError(t, os.Chtimes(bytes, time.Unix(0, 0), time.Unix(0, 0)))
	m.start()
	require.True(t, before.Since.Equal(m.Item("f").Since))
	m.stop()

	m.flags = []string{"--quarantine-keep", "1ms"}
	m.start()
	m.Until("it is gone", func() bool { return m.State("f") == "" })
	require.NoFileExists(t, bytes)
	m.untilLogged("as long as --quarantine-keep says")
	require.Regexp(t, `discarded +f +- +it was in quarantine`, m.Airlock("events .").Out)
	m.Run("%s", fails("g", "echo x"))
	m.Until("that is gone, too, when its time has come", func() bool { return strings.Contains(m.Airlock("events .").Out, "discarded    g") })
}

// TestQuarantineMax: the oldest go first, the newest stays, and people are warned before.
func TestQuarantineMax(t *testing.T) {
	const twenty, fifty = "head -c 20K /dev/zero", "head -c 50K /dev/zero"
	m := mount(t, "--quarantine-max", "64K")
	m.Must("mkdir d")
	m.Must("echo x > d/parked.tmp")
	m.Until("it is parked", func() bool { return m.State("d/parked.tmp") == "parked" })
	m.Must("rmdir d") // what nobody came back for is in quarantine now
	for _, name := range []string{"a", "b"} {
		m.Run("%s", fails(name, twenty))
	}
	require.NotContains(t, m.Airlock("status .").Out, "warning")
	m.Run("%s", fails("tiny", "head -c 9K /dev/zero"))
	require.Contains(t, m.Airlock("status .").Out, "of at most 65,536 bytes: the oldest in it go first")
	m.Run("%s", fails("c", twenty))
	m.Until("the two oldest are gone", func() bool { return m.quarantined() == "b c tiny" })
	m.Run("%s", fails("huge", "head -c 90K /dev/zero"))
	m.Until("only the newest is left", func() bool { return m.quarantined() == "huge" })
	require.Equal(t, 5, strings.Count(m.log.String(), "more room than --quarantine-max"))
	m.Run("%s", fails("d", fifty))
	m.Until("until it is not the newest any more", func() bool { return m.quarantined() == "d" })

	m.flags = append(m.flags, "--quarantine-max", "0")
	m.stop()
	m.start()
	m.Run("%s", fails("e", fifty))
	require.Equal(t, "d e", m.quarantined(), "without bounds all stay")
	m.stop()
	m.flags = append(m.flags, "--quarantine-max", "60K")
	m.start()
	m.Until("bounds hold for what an earlier mount left", func() bool { return m.quarantined() == "e" })
}

// quarantined are the names in quarantine.
func (m *Mount) quarantined() string {
	m.t.Helper()
	return m.Must(`%s status --json . | jq -r '[.items[] | select(.state == "quarantined") | .path] | sort | join(" ")'`, quote(binary))
}
