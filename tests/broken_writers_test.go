package tests

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// bytesOf are an item's bytes, read from the backing where status says that they are.
func (m *Mount) bytesOf(i report.Item) string {
	m.t.Helper()
	b, err := os.ReadFile(m.Below(i.Bytes))
	require.NoError(m.t, err, "the bytes of %s", i.Path)
	return string(b)
}

// broken is a writer that does not come to a clean end.
type broken struct {
	name   string
	script string
	code   int    // how the script ends
	reason string // pattern of the reason that status gives
	bytes  string // what is kept
}

// unclosed writes five bytes and leaves the file open.
const unclosed = `exec 3>f; printf 12345 >&3; `

var brokenWriters = []broken{
	{"KILL", unclosed + `kill -KILL $$`, 137, `^writer pid \d+ \(bash\) killed by signal 9 after 5 bytes$`, "12345"},
	{"TERM", unclosed + `kill -TERM $$`, 143, `^writer pid \d+ \(bash\) killed by signal 15 after 5 bytes$`, "12345"},
	{"SEGV", unclosed + `ulimit -c 0; kill -SEGV $$`, 139, `^writer pid \d+ \(bash\) killed by signal 11 after 5 bytes$`, "12345"},
	{"exit 3", unclosed + `exit 3`, 3, `^writer pid \d+ \(bash\) ended with 3 after 5 bytes$`, "12345"},
	{"killed before the first byte", `exec 3>f; kill -KILL $$`, 137, `killed by signal 9 after 0 bytes$`, ""},
	{"a child that was killed", `perl -e 'open F, ">f"; syswrite F, "12345"; kill 9, $$'; true`, 0,
		`^writer pid \d+ \(perl\) killed by signal 9 after 5 bytes$`, "12345"},
	{"killed with an open shared mapping", `python3 -c 'import mmap, os
fd = os.open("f", os.O_RDWR|os.O_CREAT); os.ftruncate(fd, 5)
m = mmap.mmap(fd, 5); os.close(fd); m[:] = b"12345"; m.flush()
os.kill(os.getpid(), 9)'`, 137, `killed by signal 9`, "12345"},
	{"ftruncate, then closed too early", `perl -e 'open F, ">f"; truncate F, 8; syswrite F, "12345"; close F'`, 0,
		`^8 bytes were announced, 5 were written$`, "12345\x00\x00\x00"},
	{"fallocate, then closed too early", `exec 3>f; fallocate -l 8 /dev/fd/3; printf 12345 >&3; exec 3>&-`, 0,
		`^8 bytes were announced, 5 were written$`, "12345\x00\x00\x00"},
	{"ftruncate, then killed", `perl -e 'open F, ">f"; truncate F, 8; syswrite F, "12345"; kill 9, $$'; true`, 0,
		`killed by signal 9 after 5 bytes$`, "12345\x00\x00\x00"},
}

// TestI2_ABrokenWriterPublishesNothing: nobody finds its file, status says why, and where the bytes are.
func TestI2_ABrokenWriterPublishesNothing(t *testing.T) {
	for _, w := range brokenWriters {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			end := m.Run("%s", w.script)
			require.Equal(t, w.code, end.Code, end.Out)
			require.Empty(t, m.Run("%s", look).Out)
			i := m.item("f")
			require.Equal(t, "quarantined", i.State)
			require.Regexp(t, w.reason, i.Reason)
			require.Equal(t, w.bytes, m.bytesOf(i))
			m.Must("set -C; echo again > f")
			require.Equal(t, "again", m.Must("cat f"), "the name is free")
		})
	}
}

// TestI2_ABrokenWriterLeavesTheEarlierVersion: what it was to replace stays.
func TestI2_ABrokenWriterLeavesTheEarlierVersion(t *testing.T) {
	for _, w := range brokenWriters {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			m.Must("echo old > f")
			m.Run("%s", w.script)
			require.Equal(t, "f\n4\nold\n", m.Run("%s", look).Out)
			m.Until("only what was broken is left", func() bool {
				items := m.Status()["f"]
				return len(items) == 1 && items[0].State == "quarantined"
			})
		})
	}
}

func TestI2_AKilledWriterIsNamedWithWhatItWrote(t *testing.T) {
	m := mount(t)
	p := m.Start(`exec dd of=f bs=4k iflag=fullblock status=none < <(head -c 1044480 /dev/zero; read -r)`)
	m.halfway(1044480)
	require.Equal(t, 137, p.Kill().Code)
	require.Empty(t, m.Run("%s", look).Out)
	i := m.item("f")
	require.Equal(t, fmt.Sprintf("writer pid %d (dd) killed by signal 9 after 1,044,480 bytes", p.PID()), i.Reason)
	require.Equal(t, int64(1044480), i.Size)
	require.Len(t, m.bytesOf(i), 1044480)
}

// TestI2_AChildThatMerelyInheritedTheDescriptorIsNotJudged: it neither opened the file nor wrote to it.
func TestI2_AChildThatMerelyInheritedTheDescriptorIsNotJudged(t *testing.T) {
	m := mount(t)
	m.Must(`exec 3>f; printf 12345 >&3; bash -c 'kill -9 $$'; [ -z "$(setsid ls)" ] && exec 3>&-`)
	require.Equal(t, "f\n5\n12345", m.Run("%s", look).Out)
}

// TestI2_AnAnnouncedLengthThatIsReachedIsClean; so is one that was taken back.
func TestI2_AnAnnouncedLengthThatIsReachedIsClean(t *testing.T) {
	m := mount(t)
	m.Must(`perl -e 'open F, ">f"; truncate F, 5; syswrite F, "12345"'`)
	require.Equal(t, "f\n5\n12345", m.Run("%s", look).Out)
	m.Must(`perl -e 'open F, ">f"; truncate F, 8; syswrite F, "1234"; truncate F, 4'`)
	require.Equal(t, "f\n4\n1234", m.Run("%s", look).Out)
	m.Must(`perl -e 'open F, ">f"; truncate F, 8; syswrite F, "1234567"'`)
	require.Equal(t, "f\n4\n1234", m.Run("%s", look).Out, "one byte is missing")
}

// TestI2_ALengthThereIsNoRoomForIsAnnounced: who could not get the room closes an empty file as if that were it. What is
// written all the same, to its full length, is whole.
func TestI2_ALengthThereIsNoRoomForIsAnnounced(t *testing.T) {
	m := small(t)
	m.Must(`python3 -c '
import os
f = os.open("f", os.O_WRONLY | os.O_CREAT)
try: os.posix_fallocate(f, 0, 2 << 20)
except OSError: os.close(f)'`)
	require.Empty(t, m.List("."))
	require.Equal(t, "2,097,152 bytes were announced, 0 were written", m.item("f").Reason)
	m.Must(`python3 -c '
import os
f = os.open("g", os.O_WRONLY | os.O_CREAT)
try: os.posix_fallocate(f, 0, 2 << 20)
except OSError: os.pwrite(f, b"x", (2 << 20) - 1)'`)
	require.Equal(t, "g", m.Must("ls"))
}

// small mounts a backing that one mebibyte fills.
func small(t *testing.T) *Mount {
	t.Helper()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t)}
	require.NoError(t, syscall.Mount("tmpfs", m.Backing, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(m.Backing, syscall.MNT_DETACH)) })
	m.start()
	t.Cleanup(m.end)
	return m
}

// TestI2_AFullDiskPublishesNothing, whether the writer cares or not.
func TestI2_AFullDiskPublishesNothing(t *testing.T) {
	for _, w := range []struct{ name, script string }{
		{"cp", `cp $OUT/in f; [ $? = 1 ]`},
		{"a writer that closes as if nothing had happened", `perl -e 'open F, ">f"; 1 while syswrite(F, "x" x 65536); close F; exit 0'`},
		{"a writer that exits as if nothing had happened", `perl -e 'open F, ">f"; 1 while syswrite(F, "x" x 65536); exit 0'`},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := small(t)
			outside := scratch(t)
			m.Must(`head -c 2M /dev/zero | tr '\0' x > %s/in`, outside)
			m.Must("OUT=%s; %s", outside, w.script)
			require.Empty(t, m.Run("%s", look).Out)
			i := m.item("f")
			require.Equal(t, "quarantined", i.State)
			require.Regexp(t, `^a write after [\d,]+ bytes failed: no space left on device$|^a write was cut short after [\d,]+ bytes$`, i.Reason)
			require.Regexp(t, `^x+$`, m.bytesOf(i))
		})
	}
}

// TestI2_AFailedWriteCanNotBeRenamedIntoPlace: mv is told.
func TestI2_AFailedWriteCanNotBeRenamedIntoPlace(t *testing.T) {
	m := small(t)
	r := m.Run(`head -c 2M /dev/zero > f.tmp; mv f.tmp f`)
	require.NotZero(t, r.Code)
	require.Contains(t, r.Out, "Input/output error")
	require.Empty(t, m.Run("%s", look).Out)
}
