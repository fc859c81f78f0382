package airlockfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	bin, root := filepath.Join(dir, "airlockfs"), filepath.Join(dir, "root")
	out, err := exec.Command("go", "build", "-o", bin, "./cmd/airlockfs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for range 2 { // over what an earlier version has left, too
		out, err = exec.Command("make", "-s", "install", "BIN="+bin, "DESTDIR="+root, "PREFIX=/usr").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, string(out))
	}
	out, err = exec.Command(filepath.Join(root, "usr/bin/airlockfs"), "version").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "airlockfs ")
	target, err := os.Readlink(filepath.Join(root, "sbin/mount.airlockfs"))
	require.NoError(t, err)
	assert.Equal(t, "/usr/bin/airlockfs", target)
	for file, text := range map[string]string{
		"man/man8/airlockfs.8": ".TH AIRLOCKFS 8", "man/man8/airlockfs-mount.8": ".TH AIRLOCKFS-MOUNT 8", "man/man8/mount.airlockfs.8": ".so man8/airlockfs-mount.8",
		"bash-completion/completions/airlockfs": "__start_airlockfs", "zsh/site-functions/_airlockfs": "#compdef airlockfs",
		"fish/vendor_completions.d/airlockfs.fish": "complete -c airlockfs",
	} {
		assert.Contains(t, read(t, filepath.Join(root, "usr/share", file)), text, file)
	}
}
