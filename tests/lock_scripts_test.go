package tests

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lockScripts begins to play testdata/locks.txt in a folder, and gives what each script's calls gave. It can be played by
// hand, too: tests/testdata/locks.py tests/testdata/locks.txt FOLDER.
func lockScripts(t *testing.T, folder string) (wait func() map[string][]string) {
	t.Helper()
	program, err := filepath.Abs("testdata/locks.py")
	require.NoError(t, err)
	script, err := filepath.Abs("testdata/locks.txt")
	require.NoError(t, err)
	cmd := exec.Command("timeout", "-s", "KILL", "120", "python3", program, script, folder)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	return func() map[string][]string {
		require.NoError(t, cmd.Wait(), "%s", out)
		all := map[string][]string{}
		for line := range strings.Lines(out.String()) {
			name, said, _ := strings.Cut(line, ": ")
			all[name] = append(all[name], strings.TrimSpace(said))
		}
		return all
	}
}

// TestI8_LocksAreThoseOfAnOrdinaryFilesystem: the same calls on ext4 and in folders of every class in which files are
// locked as they are, with the same outcomes but for what tests/deviations.md lists.
func TestI8_LocksAreThoseOfAnOrdinaryFilesystem(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain", "--rule", "lock/*/*=lock", "--rule", "records/**=records")
	m.Must("mkdir plain lock queue records")
	plays := map[string]func() map[string][]string{"ext4": lockScripts(t, newDisk(t, filesystems[0]).dir)}
	for _, class := range []string{"plain", "lock", "queue", "records"} {
		plays[class] = lockScripts(t, m.Path(class))
	}
	ext4 := plays["ext4"]()
	delete(plays, "ext4")
	require.Greater(t, len(ext4), 50)
	for class, play := range plays {
		want := deviations(t, "locks")
		for script, diff := range differences(t, ext4, play()) {
			assert.Equal(t, want[script], diff, "%s in a folder of class %s: tests/deviations.md says otherwise", script, class)
			delete(want, script)
		}
		assert.Empty(t, sortedKeys(want), "tests/deviations.md lists what does not deviate in a %s folder", class)
	}
	require.Empty(t, m.Locks())
}
