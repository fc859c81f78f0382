package tests

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mountSmall mounts a backing that has room for so many bytes, on a filesystem of its own.
func mountSmall(t *testing.T, bytes int) *Mount {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t)}
	require.NoError(t, unix.Mount("tmpfs", m.Backing, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", bytes)))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(m.Backing, unix.MNT_DETACH)) })
	m.start()
	t.Cleanup(m.end)
	return m
}

// On a full disk the writer is told, what he wrote is nobody's, and readers can empty the disk: claiming, settling, renaming
// and removing take no room.
func TestI2_OnAFullDiskReadersGoOnAndWritersAreTold(t *testing.T) {
	m := mountSmall(t, 1<<20)
	m.Must(`mkdir in done; for n in 1 2 3; do head -c 200000 /dev/zero | tr '\0' x > in/$n; done; echo small > in/f.tmp`)
	r := m.Run(`head -c 2000000 /dev/zero > in/big`)
	require.NotZero(t, r.Code)
	require.Contains(t, r.Out, "No space left on device")
	require.Equal(t, "quarantined", m.State("in/big"))
	require.NotContains(t, m.List("in"), "big")
	require.Contains(t, m.Run(`echo more >> in/1`).Out, "No space left on device")
	require.Equal(t, "200000", m.Must(`cat in/1 | wc -c`), "an append that has no room leaves what is there")
	m.Must(`x=$(cat in/1 | wc -c); mv in/1 done/1`)
	m.Must(`mv in/2 in/4; rm in/4; exec 3< in/3; rm in/3`)
	m.Must(`%s discard --yes in/big`, binary)
	m.Must(`rm done/1; head -c 500000 /dev/zero > in/again`)
	require.Equal(t, "500000", m.Must(`cat in/again | wc -c`))
}

// A sync that fails is not made good by another: close(2) tells the writer, and the bytes are not handed over.
func TestI2_AFailedSyncIsToldAtCloseAndQuarantined(t *testing.T) {
	m := mountFailing(t, "fdatasync@/item:EIO:1")
	c := m.Client()
	c.OK("open f item wct", "write f bytes")
	require.Equal(t, "EIO", c.Call("close", "f"))
	m.Until("it is in quarantine", func() bool { return m.State("item") == "quarantined" })
	require.Contains(t, m.Must(`%s why item`, binary), "input/output error")
	require.Empty(t, m.List("."))
	m.Must(`echo again > item; cat item`)
}

// Nobody reads what the end of a descriptor answers: a publication that the disk refuses then is made again, and until
// then the mount says so.
func TestI4_APublicationThatTheDiskRefusesIsMadeAgain(t *testing.T) {
	m := mountFailing(t, "rename@in/f:ENOSPC:1-20") // each look at the name has it made again
	m.Must(`mkdir in; echo whole > in/f`)
	require.Contains(t, m.Must(`%s why in/f`, binary), "the backing refused to settle it: no space left on device")
	m.Until("it is there", func() bool { return m.Run(`cat in/f`).Out == "whole\n" })
	require.Contains(t, m.log.String(), "will be tried again")
}

// A rename that the disk refuses has not happened, and its caller knows why.
func TestI4_ARenameThatTheDiskRefusesHasNotHappened(t *testing.T) {
	for errno, text := range map[string]string{"EDQUOT": "Disk quota exceeded", "EROFS": "Read-only file system", "EIO": "Input/output error"} {
		t.Run(errno, func(t *testing.T) {
			m := mountFailing(t, "rename@in/f:"+errno+":1,rename@out/g:"+errno+":1")
			m.Must(`mkdir in out; echo whole > in/f.tmp`)
			p := m.Start(`echo whole > in/f.tmp; mv in/f.tmp in/f; ls in; mv in/f.tmp in/f && cat in/f; mv in/f out/g; ls in; mv in/f out/g && rm out/g`)
			out := p.Wait().Out
			require.Equal(t, 2, strings.Count(out, text), out)
			require.Contains(t, out, "f.tmp\nwhole\n", out)
			require.Empty(t, m.Must(`ls in out | grep -v :`))
		})
	}
}

// What takes long on one file holds up nobody who has to do with others, in its folder or elsewhere.
func TestI7_ASlowDiskHoldsUpOnlyWhoUsesTheFile(t *testing.T) {
	m := mountFailing(t, "fdatasync@/slow:delay=6s:*,read@slowly:delay=6s:1")
	m.Must(`mkdir in out; echo text > in/slowly`)
	writer, reader, other := m.Client(), m.Client(), m.Client()
	writer.OK("open f in/slow wct", "write f bytes")
	reader.OK("open f in/slowly r")
	writer.Begin("close", "f")
	reader.Begin("read", "f")
	for _, folder := range []string{"in", "out"} {
		other.OK("open f "+folder+"/g.tmp wct", "write f text", "close f", "rename "+folder+"/g.tmp "+folder+"/g", "open f "+folder+"/g r", "close f", "unlink "+folder+"/g")
	}
	require.True(t, writer.Blocked() && reader.Blocked(), "else this was not the time to look")
	require.Empty(t, writer.End())
	require.Equal(t, "text\n", reader.End())
	require.Equal(t, "bytes", m.Must(`cat in/slow`))
}

// A backing that can't be read is not guessed about: the mount is refused, and nothing has changed.
func TestI4_AMountOfADiskThatFailsIsRefused(t *testing.T) {
	m := mountFailing(t, "close@nothing:EIO:1")
	m.Must(`mkdir in; echo old > in/f`)
	claimant := m.Start(`exec 3< in/f; read`)
	m.Until("it is claimed", func() bool { return m.State("in/f") == "claimed" })
	m.crash()
	for _, points := range []string{"list:EIO:1", "read note:EIO:1", "stat@claimed:EMFILE:1"} {
		daemon := exec.Command(failing(), "mount", "-f", m.Backing, m.Dir)
		daemon.Env = append(os.Environ(), "AIRLOCKFS_FAIL="+points)
		out, err := daemon.CombinedOutput()
		require.Error(t, err, points)
		require.Regexp(t, "(?i)input/output error|too many open files", string(out), points)
		require.False(t, mounted(m.Dir))
	}
	m.start()
	require.Equal(t, "claimed", m.State("in/f"), "its claimant lives")
	claimant.Kill()
	require.Equal(t, "old", m.Must(`cat in/f`))
}
