package tests

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool runs airlockfs, and gives what it says and its exit status.
func (m *Mount) tool(args ...string) (string, int) {
	cmd := exec.Command("timeout", append([]string{"-s", "KILL", "20", binary}, args...)...)
	out, _ := cmd.CombinedOutput() // its status says it
	return string(out), cmd.ProcessState.ExitCode()
}

// everythingBelow is a folder with all that is in it, to see whether it was changed.
func everythingBelow(t *testing.T, dir string) string {
	t.Helper()
	return tool(t, "sh", "-c", "cd "+quote(dir)+" && find . -printf '%P %y %m %u %n %i %T@ %C@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort && getfattr -R -d .")
}

// A format that is not ours is refused, and never guessed: whoever looks or tries changes nothing.
func TestUnknownFormatIsRefused(t *testing.T) {
	m := mount(t)
	m.Must("echo whole > public; echo x > parked.tmp")
	require.Equal(t, 137, m.Run("exec 3> broken; echo half >&3; kill -9 $$").Code)
	m.Until("all is settled", func() bool { return len(m.held()) == 0 && m.State("parked.tmp") == "parked" })
	m.stop()
	format := m.Below(".airlockfs/format")
	for says, want := range map[string]string{
		"airlockfs 2\n":          `says "airlockfs 2\n", this version knows "airlockfs 1\n" only: use a version that knows it; nothing was changed`,
		"airlockfs 99\nand more": `use a version that knows it; nothing was changed`,
		"airlockfs one\n":        `restore that file from a copy; nothing was changed`,
		"\x00\x00\x00\x00":       `restore that file from a copy; nothing was changed`,
		"":                       `format is missing or cut off (""), and there are files in the control folder: restore it from a copy; nothing was changed`,
		"airlockfs":              `format is missing or cut off ("airlockfs")`,
	} {
		require.NoError(t, os.WriteFile(format, []byte(says), 0o600))
		before := everythingBelow(t, m.Backing)
		for range 2 {
			said, code := refusal(t, m.Backing, m.Dir)
			require.Equal(t, 6, code, said)
			require.Contains(t, said, want)
			said, code = m.tool("check", m.Backing)
			require.Equal(t, 1, code, said)
			require.Contains(t, said, want)
			said, code = m.tool("status", m.Dir)
			require.Equal(t, 4, code, said)
		}
		require.Equal(t, before, everythingBelow(t, m.Backing), "%q", says)
	}
	require.NoError(t, os.Remove(format))
	said, code := refusal(t, m.Backing, m.Dir)
	require.Equal(t, 6, code, said)

	require.NoError(t, os.WriteFile(format, []byte("airlockfs 1\n"), 0o600))
	m.start()
	require.Equal(t, "whole", m.Must("cat public"))
	require.Equal(t, "quarantined", m.State("broken"))
}

// TestHalfMadeControlFolderLocksNobodyOut: the first mount was interrupted while it was making it.
func TestHalfMadeControlFolderLocksNobodyOut(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "air", "airlockfs 1"} {
		m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t)}
		require.NoError(t, os.Mkdir(m.Below(".airlockfs"), 0o700))
		require.NoError(t, os.WriteFile(m.Below(".airlockfs/format"), []byte(format), 0o600))
		said, code := m.tool("check", m.Backing)
		require.Zero(t, code, said)
		require.Contains(t, said, "half-made")
		m.start()
		m.Must("echo x > f")
		m.stop()
		m.healthy()
		require.Equal(t, "airlockfs 1\n", content(t, m.Below(".airlockfs/format")))
	}
}
