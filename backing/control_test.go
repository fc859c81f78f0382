package backing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func acquire(t *testing.T, dir string, areas ...string) error {
	s, err := Open(dir, Options{Areas: areas})
	require.NoError(t, err)
	defer s.Close()
	return s.Acquire()
}

func TestAcquireMakesControl(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		st := stat(t, s, Object{Name: Control})
		assert.EqualValues(t, unix.S_IFDIR|0o700, st.Mode)
		assert.Equal(t, st.ID, s.ControlID())
		assert.Equal(t, format, read(t, filepath.Join(dir, Control, formatName)))
		assert.DirExists(t, filepath.Join(dir, staging))
		require.NoError(t, s.Inspect())
	})
}

func TestAcquireAgain(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, acquire(t, dir, "staging"))
	require.NoError(t, acquire(t, dir, "staging", "held"))
	assert.DirExists(t, filepath.Join(dir, Control, "held"))
}

func TestAcquireIsExclusive(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir, Options{})
	require.NoError(t, err)
	defer first.Close()
	require.NoError(t, first.Acquire())
	err = acquire(t, dir)
	require.ErrorIs(t, err, ErrInUse)
	assert.ErrorContains(t, err, "unmount")
	require.NoError(t, first.Close())
	require.NoError(t, acquire(t, dir))
}

// What the control folder would inherit from the root has no place in it.
func TestControlInheritsNothing(t *testing.T) {
	dir := folderIn(t, "/dev/shm")
	require.NoError(t, os.Chown(dir, 0, 4242))
	require.NoError(t, unix.Chmod(dir, 0o2755))
	setACL(t, dir, "system.posix_acl_default", ace{aclUserObj, 7, noID}, ace{aclUser, 7, 1004},
		ace{aclGroupObj, 5, noID}, ace{aclMask, 7, noID}, ace{aclOther, 5, noID})
	require.NoError(t, acquire(t, dir, "staging"))
	for _, folder := range []string{Control, staging} {
		info, err := os.Stat(filepath.Join(dir, folder))
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|0o700, info.Mode())
		n, err := unix.Listxattr(filepath.Join(dir, folder), make([]byte, 256))
		require.NoError(t, err)
		assert.Zero(t, n)
	}
}

func TestForeignControlIsRefused(t *testing.T) {
	needRoot(t)
	cases := map[string]struct {
		make func(t *testing.T, path string)
		says string
		want error
	}{
		"of another user": {func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o700))
			require.NoError(t, os.Chown(path, 1234, 0))
		}, "uid 1234", ErrForeignControl},
		"open to others": {func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o755))
		}, "mode is 0755, so it may be open to others, and should be 0700: chmod 700 ", ErrOpenControl},
		"a symlink": {func(t *testing.T, path string) {
			require.NoError(t, os.Symlink(t.TempDir(), path))
		}, "not a folder", ErrForeignControl},
		"a file": {func(t *testing.T, path string) {
			write(t, path, "")
		}, "not a folder", ErrForeignControl},
		"a mount point": {func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o700))
			mount(t, "tmpfs", path)
			require.NoError(t, os.Chmod(path, 0o700))
		}, "mount point", ErrForeignControl},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, filepath.Join(dir, Control))
			err := acquire(t, dir)
			require.ErrorIs(t, err, c.want)
			assert.ErrorContains(t, err, c.says)
			assert.NoFileExists(t, filepath.Join(dir, staging))
			assert.Empty(t, descriptorsBelow(t, dir))
		})
	}
}

func TestUnknownFormatIsRefused(t *testing.T) {
	for content, do := range map[string]string{"airlockfs 2\n": "use a version that knows it", "airlockfs 1\n\n": "restore", "airlockfs 0\n": "restore",
		"airlockfs 1 \n": "restore", "\x00\x00": "restore", "otherfs 1\n": "restore", strings.Repeat("airlockfs ", 10): "restore"} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, Control), 0o700))
		write(t, filepath.Join(dir, Control, formatName), content)
		err := acquire(t, dir)
		assert.ErrorIs(t, err, ErrFormat, "%q", content)
		assert.ErrorContains(t, err, do, "%q", content)
		assert.Equal(t, content, read(t, filepath.Join(dir, Control, formatName)))
		assert.NoDirExists(t, filepath.Join(dir, staging))
	}
}

// Only where nothing can be lost a format that is not there whole is written anew.
func TestFormatIsNotGuessed(t *testing.T) {
	for _, content := range []string{"", "airlockfs", "airlockfs 1"} {
		for _, made := range []string{"", "staging", "staging/1~0~0.0.0.0.0.0"} {
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, Control, made), 0o700))
			write(t, filepath.Join(dir, Control, formatName), content)
			require.NoError(t, acquire(t, dir), "%q", content)
			assert.Equal(t, format, read(t, filepath.Join(dir, Control, formatName)))
		}
		for _, file := range []string{"staging/f", "staging/1~0~0.0.0.0.0.0/f"} {
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, Control, filepath.Dir(file)), 0o700))
			write(t, filepath.Join(dir, Control, file), "")
			assert.ErrorIs(t, acquire(t, dir), ErrFormatMissing, "no file")
			write(t, filepath.Join(dir, Control, formatName), content)
			assert.ErrorIs(t, acquire(t, dir), ErrFormatMissing, "%q", content)
			assert.Equal(t, content, read(t, filepath.Join(dir, Control, formatName)))
		}
	}
}

func TestFormatThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, Control), 0o700))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, Control, formatName), 0o600))
	assert.ErrorIs(t, acquire(t, dir), ErrNotRegular)
}

// A crash while the format was written leaves a draft, which counts for nothing.
func TestFormatDraftIsReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, Control), 0o700))
	write(t, filepath.Join(dir, Control, formatName+".new"), "airlo")
	require.NoError(t, acquire(t, dir))
	assert.Equal(t, format, read(t, filepath.Join(dir, Control, formatName)))
	assert.NoFileExists(t, filepath.Join(dir, Control, formatName+".new"))
}

func TestInspectCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Areas: []string{"staging"}})
	require.NoError(t, err)
	defer s.Close()
	require.ErrorIs(t, s.Inspect(), ErrNoControl)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestInspectBesideDaemon(t *testing.T) {
	dir := t.TempDir()
	daemon, err := Open(dir, Options{})
	require.NoError(t, err)
	defer daemon.Close()
	require.NoError(t, daemon.Acquire())
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Inspect())
	assert.Equal(t, daemon.ControlID(), s.ControlID())
}
