package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestFoldersWithinThemselvesAreRefused(t *testing.T) {
	from, at := folders(t)
	link := at + ".link"
	require.NoError(t, os.Symlink(filepath.Dir(from), link))
	require.NoError(t, os.MkdirAll(from+"/sub/below", 0o755))
	others := []mountLine{{"/mnt", filesystem, from + "/sub"}, {"/else", "fuse.sshfs", "/"}, {"/gone", filesystem, "/no/such"}}
	for _, c := range []struct {
		from, at string
		want     string // "": nothing is wrong
	}{
		{from, at, "lie within one another"},
		{from + "/sub", at, ""},
		{from + "/sub/below", at, "is the backing of the mount /mnt"},
		{link + "/backing/sub/below", at, "is the backing of the mount /mnt"},
		{from + "/su", at, ""},
		{"/no/such/folder", at, "is the backing of the mount /gone"},
		{from, "/mnt", ""},
		{"/", at, "/ can't be the backing"},
		{from, "/", "/ can't be the mountpoint"},
		{at, "/..", "/ can't be the mountpoint"},
		{at, at, ""},
		{at, at + "/in", "lies in the backing"},
		{at, link + "/mount/in", "lies in the backing"},
		{at, at + "2", ""},
		{at, filepath.Dir(at), ""},
	} {
		if c.at == link+"/mount/in" {
			require.NoError(t, os.Mkdir(at+"/in", 0o755))
		}
		err := checkNesting(others, c.from, c.at)
		if c.want == "" {
			assert.NoError(t, err, c)
			continue
		}
		assert.ErrorContains(t, err, c.want, c)
	}
}

// What is mounted in the backing is not handed over, and is told.
func TestAFilesystemInTheBackingIsTold(t *testing.T) {
	from, at := folders(t)
	sub := from + "/sub"
	require.NoError(t, os.Mkdir(sub, 0o755))
	require.NoError(t, unix.Mount("tmpfs", sub, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(sub, 0)) })
	out := succeeds(t, "mount", from, at)
	assert.Equal(t, "warning: "+sub+" is a filesystem of its own, mounted in the backing: it can't be used through the mount\n", out)
	succeeds(t, "umount", at)
}

func TestAConfigurationInTheBackingIsTold(t *testing.T) {
	from, at := folders(t)
	file := filepath.Join(from, "drop.yaml")
	require.NoError(t, os.WriteFile(file, []byte("linger: 1h\n"), 0o600))
	out := succeeds(t, "mount", "--config", file, from, at)
	assert.Equal(t, "warning: the configuration "+file+" lies in the backing, so programs on the mount can change or take it: keep it elsewhere\n", out)
	succeeds(t, "umount", at)
}
