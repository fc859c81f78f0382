package channel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fakeHelper does what fusermount3 does, for a user who is root already:
// "-o OPTIONS -- FOLDER" mounts and sends the device, "-u [-z] -- FOLDER"
// unmounts.
func fakeHelper(args []string) error {
	path := args[len(args)-1]
	if args[0] == "-u" {
		return systemMounter{}.unmount(path, slices.Contains(args, "-z"))
	}
	f, err := openFolder(path)
	if err != nil {
		return err
	}
	o := Options{}
	for option := range strings.SplitSeq(args[1], ",") {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "refuse":
			return errors.New("option refuse not allowed")
		case "fsname":
			o.Source = value
		case "subtype":
			o.Subtype = value
		case "max_read":
			o.MaxWrite, _ = strconv.Atoi(value)
		default:
			o.MountOptions = append(o.MountOptions, option)
		}
	}
	device, err := systemMounter{device: "/dev/fuse"}.mount(f, o)
	if err != nil {
		return err
	}
	socket, err := strconv.Atoi(os.Getenv("_FUSE_COMMFD"))
	if err != nil {
		return err
	}
	return unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(device.Fd())), nil, 0)
}

func installHelper(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, helperName)))
	t.Setenv("PATH", bin)
}

func TestHelperMountsAndUnmounts(t *testing.T) {
	installHelper(t)
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	fs := newMemFS(t)
	conn, err := mountWith(helperMounter{}, fs, dir, Options{Source: "/srv/in"}.withDefaults())
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- conn.Serve() }()
	runClient(t, "stat", filepath.Join(dir, "stat"))
	assertCloseOnExec(t)
	assert.Contains(t, mountTable(t), "fuse.airlockfs /srv/in ")
	require.NoError(t, conn.Unmount(false))
	require.NoError(t, <-served)
}

func TestHelperFailureIsQuoted(t *testing.T) {
	installHelper(t)
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	o := Options{MountOptions: []string{"refuse"}}.withDefaults()
	_, err := mountWith(helperMounter{}, newMemFS(t), dir, o)
	assert.ErrorContains(t, err, "fusermount3 failed (exit status 1): option refuse not allowed")
}

func TestHelperMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	_, err := mountWith(helperMounter{}, newMemFS(t), dir, Options{}.withDefaults())
	assert.ErrorContains(t, err, "install the package fuse3")
}

func TestHelperOptionsAreEscaped(t *testing.T) {
	o := Options{Source: `a,b\c`, Subtype: "x", MaxWrite: 4096}
	assert.Equal(t, `nosuid,nodev,default_permissions,max_read=4096,fsname=a\,b\\c,subtype=x`, helperOptions(o))
}
