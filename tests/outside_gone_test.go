package tests

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onDisk is a mount whose backing is the folder "backing" of a filesystem of its own. It is not looked at when the test
// ends: the disk may be gone.
func onDisk(t *testing.T) *Mount {
	t.Helper()
	t.Parallel()
	disk := scratch(t)
	require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, "size=4m"))
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	m := &Mount{t: t, Backing: disk + "/backing", Dir: scratch(t)}
	require.NoError(t, syscall.Mkdir(m.Backing, 0o755))
	m.start()
	t.Cleanup(func() {
		if mounted(m.Dir) {
			_ = syscall.Unmount(m.Dir, syscall.MNT_DETACH)
			_ = m.daemon.Process.Kill()
		}
	})
	return m
}

// TestOutside_ABackingThatIsGoneAnswersEIO: what programs have open, and what they begin. It is told once, in a sentence
// that says what to do, and the mount can be unmounted.
func TestOutside_ABackingThatIsGoneAnswersEIO(t *testing.T) {
	for name, way := range map[string]struct{ do, says string }{
		"unmounted":         {"umount -l ../", "the filesystem of the backing was unmounted: unmount, mount"},
		"removed":           {"rm -rf ../backing", "the backing folder was removed"},
		"no control folder": {"rm -rf .airlockfs", "the control folder of the backing was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			m := onDisk(t)
			m.Must("mkdir in; echo text > in/f; echo text > in/read")
			c := m.Client()
			c.OK("open r in/read r", "open w in/written wc", "write w half")
			m.Must("cd %s && %s", quote(m.Backing), way.do)
			m.Until("the mount has noticed", func() bool { return m.Run("echo x > in/x; cat in/x").Code != 0 && c.Call("stat", "in/f") == "EIO" })
			for _, call := range [][]any{{"stat", "in/other"}, {"open", "n", "in/new", "wc"}, {"mkdir", "in/folder"}, {"rename", "in/f", "in/g"},
				{"unlink", "in/read"}, {"open", "f", "in/f", "r"}, {"write", "w", "more"}, {"close", "w"}} {
				require.Equal(t, "EIO", c.Call(call...), "%v", call)
			}
			c.Kill()
			require.Contains(t, m.Airlock("status .").Out, way.says)
			require.Contains(t, m.Run("cd /; %s status %s", quote(binary), quote(m.Dir)).Out, way.says)
			require.NotContains(t, m.Run("cd /; %s check %s", quote(binary), quote(m.Dir)).Out, "nothing was ever mounted")
			require.Equal(t, 1, strings.Count(m.log.String(), "the disk fails"), m.log.String())
			m.stop()
		})
	}
}

// TestOutside_AReadOnlyBackingIsToldAndComesBack: what could not be settled meanwhile is settled then.
func TestOutside_AReadOnlyBackingIsToldAndComesBack(t *testing.T) {
	m := onDisk(t)
	m.Must("echo text > f; echo text > g")
	c := m.Client()
	c.OK("open r f r")
	m.Must("mount -o remount,ro %s/..", quote(m.Backing))
	require.Equal(t, "EROFS", c.Call("open", "n", "new", "wc"))
	require.Equal(t, "EROFS", c.Call("open", "g", "g", "r"))
	require.Equal(t, "EROFS", c.Call("unlink", "f"))
	require.Equal(t, "text\n", c.Call("read", "r"))
	c.Kill()
	m.Until("it can't be given back", func() bool { return strings.Contains(m.Item("f").Reason, "refused to settle it") })
	require.Contains(t, m.Airlock("status .").Out, "mounted read-only")
	require.Equal(t, 1, strings.Count(m.log.String(), "the disk fails"), m.log.String())
	m.Must("mount -o remount,rw %s/..", quote(m.Backing))
	require.Equal(t, "text\ntext", m.Must("cat f g"))
	m.Until("everything is given back", func() bool { return len(m.Status()) == 0 })
	m.stop()
}

// TestOutside_AFullDiskIsTold says what would make room, and is over when there is some.
func TestOutside_AFullDiskIsTold(t *testing.T) {
	m := onDisk(t)
	require.NotContains(t, m.Airlock("status .").Out, "full")
	m.Run(`exec 3> w; head -c 500000 /dev/zero >&3; kill -KILL $$`)
	m.Must("head -c 600000 /dev/zero > f; head -c 10 /dev/zero > f")
	m.outside("dd if=/dev/zero of=../filler bs=4k 2>/dev/null || true")
	require.Regexp(t, `warning: the disk of the backing is full, or nearly: [\d,]+ of 4,194,304 bytes are free; 50\d,\d{3} are in quarantine \(airlockfs discard\); 60\d,\d{3} are versions`,
		m.Airlock("status .").Out)
	require.NotContains(t, m.orderAs(alice, "status .").Out, "quarantine (")
	m.outside("rm ../filler")
	require.NotContains(t, m.Airlock("status .").Out, "full")
}
