package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockHolder(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 1 00:19:7 0 EOF
2: FLOCK  ADVISORY  READ 2 00:19:8 0 EOF
3: FLOCK  ADVISORY  WRITE 3 00:19:9 0 EOF
3: -> FLOCK  ADVISORY  WRITE 4 00:19:10 0 EOF
`
	for inode, want := range map[uint64]int{7: 0, 8: 0, 9: 3, 10: 0, 90: 0} {
		pid, held := lockHolder(locks, inode)
		assert.Equal(t, want, pid, inode)
		assert.Equal(t, want != 0, held, inode)
	}
}

func TestSecondDaemonIsTold(t *testing.T) {
	from, at := mounted(t)
	_, other := folders(t)
	pid := daemonOf(t, at)
	fails(t, exitBusy, "the daemon with pid "+pid+" serves it on "+at+": airlockfs umount "+at+" first", "mount", from, other)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(from, link))
	fails(t, exitBusy, "serves it on "+at, "mount", link, other)

	f, err := os.Create(filepath.Join(at, "a"))
	require.NoError(t, err)
	succeeds(t, "umount", "--lazy", at)
	fails(t, exitBusy, "pid "+pid+" serves it, and no mount of it can be seen", "mount", from, at)
	require.NoError(t, f.Close())
}
