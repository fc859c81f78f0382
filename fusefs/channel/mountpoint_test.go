package channel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// serveRole: FOLDER SUBTYPE. Mounts, says "ready" and serves.
func serveRole(args []string) error {
	fs := fuse.NewDefaultRawFileSystem()
	conn, err := Mount(fs, args[0], Options{Source: "/srv/in box", Subtype: args[1]})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return conn.Serve()
}

// startDaemon serves the folder in another process.
func startDaemon(t *testing.T, dir, subtype string) *client {
	c := startClient(t, "serve", dir, subtype)
	require.Equal(t, "ready", c.line(t))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return c
}

// kill ends a client that may be waiting for the filesystem.
func (c *client) kill(t *testing.T) {
	require.NoError(t, c.cmd.Process.Kill())
	select {
	case <-c.gone():
	case <-time.After(time.Second):
		require.FailNow(t, "the client outlived its SIGKILL by a second")
	}
}

func mountError(t *testing.T, path string, o Options) string {
	_, err := Mount(newMemFS(t), path, o)
	require.Error(t, err)
	return err.Error()
}

func TestMountpointMustBeAFolder(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Contains(t, mountError(t, filepath.Join(dir, "none"), Options{}), "does not exist: create it with mkdir")
	assert.Contains(t, mountError(t, file, Options{}), "is not a folder")
}

func TestMountReplacesADeadPredecessor(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	startDaemon(t, dir, "airlockfs").kill(t)
	var log logBuffer
	conn, err := Mount(newMemFS(t), dir, Options{Log: log.logger()})
	require.NoError(t, err)
	assert.Contains(t, log.String(), "detaching the mount of a daemon that died")
	assert.Contains(t, log.String(), `source="/srv/in box"`)
	require.NoError(t, conn.Unmount(false))
	require.NoError(t, conn.Serve())
}

func TestMountLeavesADeadStrangerAlone(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	startDaemon(t, dir, "otherfs").kill(t)
	assert.Contains(t, mountError(t, dir, Options{}), "has a fuse.otherfs mount whose daemon died: unmount it first")
	assert.Contains(t, mountError(t, filepath.Join(dir, "sub"), Options{}), "is below a FUSE mount whose daemon died")
}

func TestMountRefusesALivingMount(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	daemon := startDaemon(t, dir, "airlockfs")
	assert.Contains(t, mountError(t, dir, Options{}), "already has a living airlockfs mount of /srv/in box")
	require.NoError(t, unix.Unmount(dir, 0))
	daemon.wait(t)
}

func TestMountNeedsTheDevice(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	m := systemMounter{device: filepath.Join(dir, "fuse")}
	_, err := mountWith(m, newMemFS(t), dir, Options{}.withDefaults())
	assert.ErrorContains(t, err, "load the kernel module (modprobe fuse)")
	assert.ErrorContains(t, m.explainDevice(unix.EPERM), "may not be opened")
}

func TestMountNamesRefusedOptions(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	assert.Contains(t, mountError(t, dir, Options{MountOptions: []string{"nonsense"}}), `default_permissions,max_read=1048576,nonsense"`)
}

func TestMountTableShowsSourceTypeAndOptions(t *testing.T) {
	m := serve(t, Options{Source: "/srv/in box", ReadOnly: true, AllowOther: true, MountOptions: []string{"noexec"}})
	_, line, _ := strings.Cut(mountTable(t), " "+m.dir+" ")
	line, _, _ = strings.Cut(line, "\n")
	assert.Contains(t, line, "ro,nosuid,nodev,noexec")
	assert.Contains(t, line, `fuse.airlockfs /srv/in\040box`)
	assert.Contains(t, line, "default_permissions,allow_other")
	assert.Equal(t, m.dir, m.Mountpoint())
}

func TestUnmountOfABusyMountSaysSo(t *testing.T) {
	m := serve(t, Options{})
	c := startClient(t, "open", m.path("file"))
	require.Equal(t, "opened", c.line(t))
	err := m.Unmount(false)
	require.ErrorIs(t, err, unix.EBUSY)
	assert.ErrorContains(t, err, "close them, or unmount lazily")

	require.NoError(t, m.Unmount(true))
	assert.NotContains(t, mountTable(t), " "+m.dir+" ")
	require.NoError(t, c.stdin.Close())
	c.wait(t)
	m.waitServed(t)
}

func TestUnmountBeforeServe(t *testing.T) {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	fs := newMemFS(t)
	conn, err := Mount(fs, dir, Options{})
	require.NoError(t, err)
	require.NoError(t, conn.Unmount(false))
	require.NoError(t, conn.Unmount(false), "unmounting again")
	require.NoError(t, conn.Serve())
	assert.True(t, fs.unmounted.Load())
	assert.NoError(t, conn.Unmount(false), "after the end")
}

func TestUnmountSparesWhatIsMountedOverIt(t *testing.T) {
	m := serve(t, Options{})
	require.NoError(t, unix.Mount("none", m.dir, "tmpfs", 0, ""))
	assert.ErrorContains(t, m.Unmount(true), "another filesystem is mounted over")
	require.NoError(t, unix.Unmount(m.dir, 0))
	require.NoError(t, m.Unmount(false))
	m.waitServed(t)
	require.NoError(t, unix.Mount("none", m.dir, "tmpfs", 0, ""))
	assert.NoError(t, m.Unmount(true))
	require.NoError(t, unix.Unmount(m.dir, 0), "the other mount is still there")
}
