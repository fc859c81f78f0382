package backing

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestStatAgrees compares with stat(2).
func TestStatAgrees(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		path := filepath.Join(dir, "in", "f")
		write(t, path, "some bytes")
		var want unix.Stat_t
		require.NoError(t, unix.Lstat(path, &want))
		got := stat(t, s, Object{"in", "f"})
		assert.Equal(t, ID{want.Dev, want.Ino, got.Born}, got.ID)
		assert.Equal(t, []any{want.Mode, uint32(want.Nlink), want.Uid, want.Gid, want.Size},
			[]any{got.Mode, got.Nlink, got.UID, got.GID, got.Size})
		assert.Equal(t, []any{uint64(want.Blocks), uint32(want.Blksize), uint32(want.Rdev)},
			[]any{got.Blocks, got.Blksize, got.Rdev})
		assert.Equal(t, []unix.Timespec{want.Atim, want.Mtim, want.Ctim},
			[]unix.Timespec{got.Atime, got.Mtime, got.Ctime})
		assert.WithinDuration(t, time.Now(), time.Unix(0, got.Born), time.Minute)
		assert.Equal(t, stat(t, s, Object{Name: "in"}), stat(t, s, Object{Folder: "in"}))
		assert.True(t, stat(t, s, Object{}).IsFolder())
	})
}

// Inode numbers come back at once, identities do not.
func TestIDTellsGenerationsApart(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		seen := map[ID]bool{}
		for range 20 {
			require.NoError(t, made(s.CreateInPlace(Object{"in", "f"}, unix.O_RDWR, 0o644, 0, 0)))
			seen[stat(t, s, Object{"in", "f"}).ID] = true
			require.NoError(t, s.Remove(Object{"in", "f"}))
			waitTick(t)
		}
		assert.Len(t, seen, 20)
	})
}

// waitTick waits until the coarse clock, which file times come from, moves on.
func waitTick(t *testing.T) {
	coarse := func() (now unix.Timespec) {
		require.NoError(t, unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now))
		return now
	}
	for before := coarse(); coarse() == before; {
	}
}

func TestChangeAttributes(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		o := Object{"in", "f"}
		write(t, filepath.Join(dir, "in", "f"), "0123456789")
		require.NoError(t, s.Chmod(o, 0o4711))
		assert.EqualValues(t, unix.S_IFREG|0o4711, stat(t, s, o).Mode)
		require.NoError(t, s.Chown(o, 1001, -1))
		require.NoError(t, s.Chown(o, -1, 1002))
		assert.Equal(t, []uint32{1001, 1002}, []uint32{stat(t, s, o).UID, stat(t, s, o).GID})
		require.NoError(t, s.Truncate(o, 3))
		assert.Equal(t, "012", read(t, filepath.Join(dir, "in", "f")))
		assert.ErrorIs(t, s.Truncate(Object{Name: "in"}, 3), syscall.EISDIR)
		require.NoError(t, s.Chmod(Object{Folder: "in"}, 0o700))
		assert.EqualValues(t, unix.S_IFDIR|0o700, stat(t, s, Object{Name: "in"}).Mode)
	})
}

func TestUtimens(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		o := Object{"in", "f"}
		write(t, filepath.Join(dir, "in", "f"), "")
		atime, mtime := unix.Timespec{Sec: 1, Nsec: 2}, unix.Timespec{Sec: 3, Nsec: 4}
		require.NoError(t, s.Utimens(o, &atime, &mtime))
		assert.Equal(t, []unix.Timespec{atime, mtime}, []unix.Timespec{stat(t, s, o).Atime, stat(t, s, o).Mtime})
		require.NoError(t, s.Utimens(o, &unix.Timespec{Nsec: unix.UTIME_NOW}, nil))
		assert.Equal(t, mtime, stat(t, s, o).Mtime)
		accessed := stat(t, s, o).Atime
		assert.WithinDuration(t, time.Now(), time.Unix(accessed.Unix()), time.Minute)
		require.NoError(t, s.Utimens(o, nil, nil))
		assert.Equal(t, mtime, stat(t, s, o).Mtime)
	})
}

func TestXattrs(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		o, buf := Object{"in", "f"}, make([]byte, 64)
		write(t, filepath.Join(dir, "in", "f"), "")
		require.NoError(t, s.SetXattr(o, "user.x", []byte("value"), unix.XATTR_CREATE))
		assert.ErrorIs(t, s.SetXattr(o, "user.x", nil, unix.XATTR_CREATE), syscall.EEXIST)
		n, err := s.GetXattr(o, "user.x", buf)
		require.NoError(t, err)
		assert.Equal(t, "value", string(buf[:n]))
		n, err = s.GetXattr(o, "user.x", nil)
		require.NoError(t, err)
		assert.Equal(t, 5, n)
		_, err = s.GetXattr(o, "user.x", buf[:2])
		assert.ErrorIs(t, err, syscall.ERANGE)
		n, err = s.ListXattr(o, buf)
		require.NoError(t, err)
		assert.Contains(t, string(buf[:n]), "user.x\x00")
		require.NoError(t, s.RemoveXattr(o, "user.x"))
		assert.ErrorIs(t, s.RemoveXattr(o, "user.x"), syscall.ENODATA)
	})
}

func TestNoteTravelsWithInode(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store, dir string) {
		o := Object{"in", "f"}
		write(t, filepath.Join(dir, "in", "f"), "")
		note, err := s.Note(o)
		require.NoError(t, err)
		assert.Nil(t, note)
		require.NoError(t, s.ClearNote(o))
		for _, want := range [][]byte{[]byte("one"), {0, 255}, bytes.Repeat([]byte("x"), 3000), {}} {
			require.NoError(t, s.SetNote(o, want))
			require.NoError(t, s.Move(o, Object{staging, "k"}, NoReplace))
			note, err = s.Note(Object{staging, "k"})
			require.NoError(t, err)
			assert.Equal(t, want, note)
			require.NoError(t, s.Move(Object{staging, "k"}, o, NoReplace))
		}
		require.NoError(t, s.ClearNote(o))
		note, err = s.Note(o)
		require.NoError(t, err)
		assert.Nil(t, note)
		assert.ErrorIs(t, s.SetNote(o, make([]byte, 70000)), syscall.E2BIG)
		require.NoError(t, s.SetNote(Object{Name: "in"}, []byte("folder")))
	})
}
