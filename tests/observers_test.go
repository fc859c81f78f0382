package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const nobody = 65534

// program is the file of a program, as --observer exe= wants it.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	path, err = filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

// observed mounts with observers of each kind, and makes an item that everybody may claim.
func observed(t *testing.T) *Mount {
	t.Helper()
	m := mount(t, "--observer", "uid=65534", "--observer", "exe="+program(t, "sha1sum"), "--observer", "name=md5sum")
	m.Must(`mkdir -m 777 in; echo text > in/f`)
	return m
}

func TestAnObserverReadsWithoutClaiming(t *testing.T) {
	for name, c := range map[string]struct {
		uid    uint32
		read   string
		claims bool
	}{
		"uid":        {nobody, `exec 3< in/f; cat <&3`, false},
		"exe":        {0, `sha1sum in/f`, false},
		"name":       {0, `md5sum in/f`, false},
		"none":       {0, `sha256sum in/f`, true},
		"other name": {0, `(exec -a md5sum sha256sum in/f)`, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := observed(t)
			marks := scratch(t)
			require.NoError(t, os.Chmod(marks, 0o777))
			p := m.StartAs(c.uid, c.read+`; : > %s/read; read`, marks)
			m.untilMarked(marks, 1)
			require.Equal(t, c.claims, m.State("in/f") == "claimed")
			require.Equal(t, !c.claims, m.Run(`cat in/f`).Code == 0)
			p.Kill()
			require.Equal(t, map[bool]string{true: "1", false: "0"}[c.claims], m.attempts("in/f"))
		})
	}
}

func TestAnObserverSeesWhatIsClaimed(t *testing.T) {
	m := observed(t)
	marks := scratch(t)
	claimant := m.Start(`exec 3< in/f; : > %s/claimed; read; rm in/f`, marks)
	m.untilMarked(marks, 1)

	require.Equal(t, result{Out: "text\n"}, m.RunAs(nobody, `cat in/f`))
	require.Equal(t, result{Out: "f\n"}, m.RunAs(nobody, `ls in`))
	require.Zero(t, m.Run(`sha1sum in/f`).Code)
	require.NotZero(t, m.Run(`md5sum in/f`).Code, "anybody can take a name: it gives no rights")
	require.NotZero(t, m.Run(`cat in/f`).Code)

	claimant.Say()
	require.Zero(t, claimant.Wait().Code, "observers don't disturb the claim")
	require.NotZero(t, m.RunAs(nobody, `cat in/f`).Code)
}

// What a backup finds by name it also finds by walking the tree.
func TestAnObserverListsWhatIsClaimed(t *testing.T) {
	m := mount(t, "--observer", "exe="+program(t, "tar"))
	m.Must(`mkdir -m 755 in; echo text > in/f`)
	m.Must(`exec 3< in/f; setsid -w tar cf /dev/null in/f; setsid -w tar c in | tar t | grep -qx in/f; setsid -w ls in | grep -c . && exit 1; true`)
	r := m.Start(`exec 3< in/f; read`)
	m.Until("it is claimed", func() bool { return m.State("in/f") == "claimed" })
	require.Equal(t, result{Out: "f\ntext\n"}, m.RunAs(nobody, `ls in; cat in/f`), "a guest, who may not remove it, sees it as well")
	r.Kill()
}

func TestWhoMayNotUnlinkReadsWithoutClaiming(t *testing.T) {
	for name, c := range map[string]struct {
		mode   string
		claims bool
	}{
		"may not write the folder": {"755", false},
		"sticky folder":            {"1777", false},
		"may":                      {"777", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.Must(`mkdir -m %s in; echo text > in/f`, c.mode)
			marks := scratch(t)
			require.NoError(t, os.Chmod(marks, 0o777))
			p := m.StartAs(nobody, `exec 3< in/f; cat <&3; : > %s/read; read`, marks)
			m.untilMarked(marks, 1)
			require.Equal(t, c.claims, m.State("in/f") == "claimed")
			require.Equal(t, !c.claims, m.Run(`cat in/f`).Code == 0)
			p.Kill()
			require.Equal(t, map[bool]string{true: "1", false: "0"}[c.claims], m.attempts("in/f"))
		})
	}
}
