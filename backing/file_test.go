package backing

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func open(t *testing.T, s *Store, name string, flags int) *File {
	f, _, err := s.Open(Object{"in", name}, flags)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOpenFlags(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		path := filepath.Join(dir, "in", "f")
		write(t, path, "old")
		f := open(t, s, "f", unix.O_WRONLY|unix.O_APPEND|unix.O_NOATIME)
		_, err := f.Write([]byte("+new"))
		require.NoError(t, err)
		assert.Equal(t, "old+new", read(t, path))
		_, err = open(t, s, "f", unix.O_RDONLY).Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.EBADF)
		f, st, err := s.Open(Object{"in", "f"}, unix.O_RDWR|unix.O_TRUNC)
		require.NoError(t, err)
		closeAll(t, f)
		assert.Zero(t, st.Size)
		for _, flag := range []int{unix.O_CREAT, unix.O_EXCL, unix.O_PATH, unix.O_DIRECTORY, unix.O_TMPFILE} {
			_, _, err = s.Open(Object{"in", "f"}, flag)
			assert.ErrorIs(t, err, syscall.EINVAL)
		}
	})
}

func TestOpenedIsCloseOnExec(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	f, err := s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	require.NoError(t, err)
	defer f.Close()
	for _, fd := range []uintptr{f.file.Fd(), uintptr(s.folders.root.fd), uintptr(s.lock)} {
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		require.NoError(t, err)
		assert.Equal(t, unix.FD_CLOEXEC, flags)
	}
}

func TestFileAttributes(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "0123456789")
		f := open(t, s, "f", unix.O_RDWR)
		require.NoError(t, f.Chown(1001, -1))
		require.NoError(t, f.Chmod(0o4600))
		require.NoError(t, f.Truncate(4))
		require.NoError(t, f.Utimens(nil, &unix.Timespec{Sec: 5}))
		st, err := f.Stat2()
		require.NoError(t, err)
		assert.Equal(t, stat(t, s, Object{"in", "f"}), st)
		assert.EqualValues(t, unix.S_IFREG|0o4600, st.Mode)
		assert.EqualValues(t, 1001, st.UID)
		assert.EqualValues(t, 4, st.Size)
		assert.Equal(t, unix.Timespec{Sec: 5}, st.Mtime)
		require.NoError(t, f.Sync())
		require.NoError(t, f.Datasync())
	})
}

func TestFileXattrs(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "")
		f, buf := open(t, s, "f", unix.O_RDWR), make([]byte, 64)
		require.NoError(t, f.SetXattr("user.x", []byte("v"), 0))
		n, err := f.GetXattr("user.x", buf)
		require.NoError(t, err)
		assert.Equal(t, "v", string(buf[:n]))
		n, err = f.ListXattr(buf)
		require.NoError(t, err)
		assert.Contains(t, string(buf[:n]), "user.x\x00")
		require.NoError(t, f.RemoveXattr("user.x"))
		_, err = f.GetXattr("user.x", buf)
		assert.ErrorIs(t, err, syscall.ENODATA)
	})
}

func TestFileAllocateAndHoles(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "")
		f := open(t, s, "f", unix.O_RDWR)
		require.NoError(t, f.Truncate(1<<20))
		_, err := f.WriteAt([]byte("x"), 512<<10)
		require.NoError(t, err)
		data, err := f.SeekHole(0, unix.SEEK_DATA)
		require.NoError(t, err)
		assert.EqualValues(t, 512<<10, data)
		hole, err := f.SeekHole(data, unix.SEEK_HOLE)
		require.NoError(t, err)
		assert.Greater(t, hole, data)
		_, err = f.SeekHole(1<<20, unix.SEEK_DATA)
		assert.ErrorIs(t, err, syscall.ENXIO)
		require.NoError(t, f.Allocate(0, 1<<20, 4096))
		st, err := f.Stat2()
		require.NoError(t, err)
		assert.EqualValues(t, 1<<20+4096, st.Size)
		require.NoError(t, f.Allocate(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 512<<10, 4096))
		_, err = f.ReadAt(make([]byte, 1), 512<<10)
		require.NoError(t, err)
	})
}

func TestReopenWithoutName(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "f"), "bytes")
		f := open(t, s, "f", unix.O_RDONLY)
		require.NoError(t, s.Remove(Object{"in", "f"}))
		again, err := f.Reopen(unix.O_RDWR)
		require.NoError(t, err)
		_, err = again.WriteAt([]byte("B"), 0)
		require.NoError(t, err)
		closeAll(t, again)
		got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		require.NoError(t, err)
		assert.Equal(t, "Bytes", string(got))
	})
}

func TestClosedFile(t *testing.T) {
	s := acquired(t, folderIn(t, "/dev/shm"), Options{})
	f, err := s.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	require.NoError(t, err)
	closeAll(t, f)
	_, err = f.Stat2()
	assert.ErrorIs(t, err, syscall.EBADF)
	assert.ErrorIs(t, f.Sync(), syscall.EBADF)
	assert.ErrorIs(t, s.LinkFile(f, Object{"in", "f"}), syscall.EBADF)
	assert.ErrorIs(t, f.Close(), os.ErrClosed)
}

func TestCopyFrom(t *testing.T) {
	const size = 8 << 20
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "from"), "head")
		from := open(t, s, "from", unix.O_RDWR)
		require.NoError(t, from.Truncate(size))
		_, err := from.WriteAt([]byte("middle"), size/2)
		require.NoError(t, err)
		whole := read(t, filepath.Join(dir, "in", "from"))
		for _, n := range []int64{0, 2, size / 2, size/2 + 3, size - 1, size, size + 1} {
			write(t, filepath.Join(dir, "in", "to"), strings.Repeat("old", 5000))
			to := open(t, s, "to", unix.O_RDWR)
			require.NoError(t, to.CopyFrom(from, n))
			got := read(t, filepath.Join(dir, "in", "to"))
			assert.True(t, got == whole[:min(n, size)], "the first %d bytes", n)
			st, err := to.Stat2()
			require.NoError(t, err)
			assert.Less(t, st.Blocks*512, uint64(1<<20), "holes stay holes")
		}
	})
}

// Through memory, as between filesystems that offer nothing better.
func TestCopyBetweenFilesystems(t *testing.T) {
	a := acquired(t, folderIn(t, "/dev/shm"), Options{})
	b := acquired(t, folderIn(t, os.TempDir()), Options{})
	from, err := a.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	require.NoError(t, err)
	defer from.Close()
	content := strings.Repeat("0123456789", 100_000)
	_, err = from.Write([]byte(content))
	require.NoError(t, err)
	to, err := b.Create(Object{staging, "k"}, "in", 0o644, 0, 0)
	require.NoError(t, err)
	defer to.Close()
	require.NoError(t, to.CopyFrom(from, int64(len(content))))
	require.NoError(t, to.copyThrough(from, 0, 10))
	got, err := io.ReadAll(io.NewSectionReader(to, 0, 1<<30))
	require.NoError(t, err)
	assert.True(t, string(got) == content)
}

func TestCopyTellsTrueError(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		write(t, filepath.Join(dir, "in", "from"), "bytes")
		write(t, filepath.Join(dir, "in", "to"), "")
		from, to := open(t, s, "from", unix.O_RDONLY), open(t, s, "to", unix.O_RDONLY)
		assert.ErrorIs(t, to.CopyFrom(from, 5), syscall.EINVAL, "ftruncate of a read-only descriptor")
		unread := open(t, s, "from", unix.O_WRONLY)
		to = open(t, s, "to", unix.O_RDWR)
		assert.ErrorIs(t, to.CopyFrom(unread, 3), syscall.EBADF)
	})
}
