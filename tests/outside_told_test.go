package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What people are told of what outsiders do.

// TestOutside_AnOutsidersWriterIsTold: why, status and ls --hidden say of a new file, and of one that was complete, that an
// outsider has it open, and of neither once it is closed.
func TestOutside_AnOutsidersWriterIsTold(t *testing.T) {
	m := mount(t)
	m.outside("echo old > again")
	m.Must("stat again") // known to be complete
	marks := scratch(t)
	o := m.Start(`cd %s; exec 3> new 4>> again; : > %s/x; read`, quote(m.Backing), quote(marks))
	m.untilMarked(marks, 1)
	for _, f := range []string{"again", "new"} {
		why := m.Airlock("why " + f).Out
		require.Contains(t, why, "somebody outside the mount has it open for writing, as far as is known since ")
		require.Contains(t, why, "fuser or lsof")
		require.NotContains(t, why, "nothing that you may know of")
		require.NotContains(t, why, "published")
		require.Regexp(t, `(?m)^outside .* `+f+` `, m.Airlock("status .").Out)
		require.Regexp(t, `(?m)^outside .* `+f+`$`, m.Airlock("ls --hidden .").Out)
		require.NotZero(t, m.Run("cat %s", f).Code)
		require.NotZero(t, m.Run("echo more >> %s", f).Code)
	}
	require.Contains(t, m.Airlock("events .").Out, "somebody outside the mount has it open for writing, as far as is known since")
	require.NotContains(t, m.log.String(), "claimed by somebody else")
	o.Say()
	o.Wait()
	require.Empty(t, m.Status())
	require.Contains(t, m.Airlock("why again").Out, "published")
}

// TestWhatIsRemovedFromQuarantineByHandIsAnEvent says who: not the mount.
func TestWhatIsRemovedFromQuarantineByHandIsAnEvent(t *testing.T) {
	m := mount(t)
	m.broken("w")
	m.outside("rm -r .airlockfs/quarantine")
	require.Empty(t, m.State("w"))
	require.Regexp(t, `discarded\s+w .*removed by hand in the backing`, m.Airlock("events .").Out)
}
