package tests

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people are told of claims that are not theirs, or that nobody works at.

// TestAHungOwnersClaimIsTold: linger does not promise what it does not do while the file is open, and status warns.
func TestAHungOwnersClaimIsTold(t *testing.T) {
	m := mount(t, "--linger", "1s")
	m.Must("echo x > f")
	p := m.Start(`exec 3< f; kill -STOP $$; exit 0`)
	m.Until("it is stopped, and status says so", func() bool {
		return strings.Contains(m.Airlock("status .").Out, "which is stopped")
	})
	require.Regexp(t, `warning: f: held open by pid \d+ \(bash\), which is stopped since .*airlockfs release`, m.Airlock("status .").Out)
	why := m.Airlock("why f").Out
	require.Contains(t, why, "not as long as it has it open")
	require.NotContains(t, why, "--linger")
	require.NoError(t, syscall.Kill(p.cmd.Process.Pid, syscall.SIGCONT))
	require.Zero(t, p.Wait().Code)
}

// TestAnotherUsersClaimIsToldWithoutItsOwner: to who may not write in the folder, and so sees the file.
func TestAnotherUsersClaimIsToldWithoutItsOwner(t *testing.T) {
	m := mount(t)
	m.Must("mkdir in; chmod 755 in; echo x > in/f")
	c := m.Client()
	c.OK("open r in/f r")
	for _, order := range []string{"why in/f", "release in/f", "discard in/f"} {
		out := m.orderAs(alice, order).Out
		require.Contains(t, out, "it is claimed by another user since ", order)
		require.NotContains(t, out, "nothing that you may know of", order)
		require.NotContains(t, out, "public", order)
		require.NotContains(t, out, "pid", order)
	}
	c.Kill()
	m.Until("it is back", func() bool { return m.State("in/f") == "" })
}
