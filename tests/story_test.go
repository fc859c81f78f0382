package tests

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mountUnder mounts with a daemon that is the one child of a command.
func mountUnder(t *testing.T, under []string, flags ...string) *Mount {
	t.Helper()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: flags, under: under}
	m.start()
	t.Cleanup(m.end)
	return m
}

// story is what every mount does, whoever mounts it on whatever kernel: the guarantees in short.
func (m *Mount) story() {
	t := m.t
	t.Helper()
	m.Must(`mkdir in out`)
	w := m.Start(`exec 3> in/f; echo half >&3; read; echo whole >&3; exec 3>&-; echo closed > in/done; read`)
	m.Until("half of it is written", func() bool { return m.State("in/f") == "staged" })
	require.Empty(t, m.List("in"), "I1")
	w.Say()
	m.Until("it is whole", func() bool { return m.Run(`test -e in/done`).Code == 0 })
	require.Equal(t, "half\nwhole", m.Must(`cat in/f`), "I7, and the claim has come back")
	w.Kill()

	require.Equal(t, 137, m.Run(`exec 3> in/broken; echo x >&3; kill -9 $$`).Code)
	require.Equal(t, "quarantined", m.State("in/broken"), "I2")
	require.Equal(t, 3, m.Run(`exec 3> in/failed; echo x >&3; exit 3`).Code)
	require.Equal(t, "quarantined", m.State("in/failed"), "I2")

	marks := scratch(t)
	require.NoError(t, os.Chmod(marks, 0o777))
	claimant := m.Start(`exec 3< in/f; : > %s/claimed; read; rm in/f`, marks)
	m.untilMarked(marks, 1)
	require.NotZero(t, m.Run(`cat in/f`).Code, "I3")
	m.crash()
	m.start()
	require.NotZero(t, m.Run(`cat in/f`).Code, "its claimant lives")
	claimant.Kill()
	require.Equal(t, "half\nwhole", m.Must(`cat in/f`), "I4")

	m.Must(`echo new > in/f.tmp; mv in/f.tmp in/f; echo more >> in/f`)
	require.Equal(t, "new\nmore", m.Must(`x=$(cat in/f); echo "$x"; rm in/f`), "I6")
	require.NotZero(t, m.Run(`flock l.lock true; exec 9> l.lock; flock 9; flock -n l.lock true`).Code)
	require.Contains(t, m.Must(`%[1]s status . && %[1]s why in/broken && %[1]s events . && %[1]s locks .`, binary), "quarantined")
}

// masks are older kernels, by what their system calls do not do.
var masks = map[string]struct {
	calls []string // strace(1): what to inject
	said  []string // what the mount says about it
}{
	"6.9 to 6.14":  {[]string{"ioctl:error=ENOTTY"}, []string{"before Linux 6.15"}},
	"5.10 to 6.8":  {[]string{"ioctl:error=ENOTTY", "fstatfs:retval=0"}, []string{"before Linux 6.15", "before Linux 6.9"}},
	"5.10, no ids": {[]string{"ioctl:error=EINVAL", "fstatfs:retval=0", "close_range:error=ENOSYS"}, []string{"before Linux 6.9"}},
}

// masked is the strace(1) that a daemon runs under, as on such a kernel.
func masked(calls []string) []string {
	under := []string{"strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=ioctl,fstatfs,close_range"}
	for _, c := range calls {
		under = append(under, "-e", "inject="+c)
	}
	return append(under, "--")
}

func TestStoryOnOlderKernels(t *testing.T) {
	for name, k := range masks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mountUnder(t, masked(k.calls))
			for _, said := range k.said {
				m.Until("the mount says it", func() bool { return strings.Contains(m.log.String(), said) })
				require.Contains(t, m.Must(`cat .airlockfs/mount`), said)
			}
			m.story()
		})
	}
}

// On such a kernel nobody knows how a process ended that was waited for. --unknown-exit decides.
func TestUnknownExitOnOlderKernels(t *testing.T) {
	t.Parallel()
	m := mountUnder(t, masked(masks["6.9 to 6.14"].calls), "--unknown-exit", "quarantine", "--rule", "out/**=queue,publish=exit")
	m.Must(`mkdir out`)
	require.Equal(t, 3, m.Run(`echo x > out/failed; exit 3`).Code)
	require.Equal(t, "quarantined", m.State("out/failed"))
}

// mayMount lets a user open /dev/fuse until the test ends, as most distributions do.
func mayMount(t *testing.T, uid string) {
	t.Helper()
	out, err := exec.Command("setfacl", "-m", "u:"+uid+":rw", "/dev/fuse").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { require.NoError(t, exec.Command("setfacl", "-x", "u:"+uid, "/dev/fuse").Run()) })
}

// mountAsNobody mounts as a user without rights, by fusermount3(1), who is alone on the mount.
func mountAsNobody(t *testing.T) *Mount {
	t.Helper()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), user: nobody,
		under: []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--", "bash", "-c", `"$@"; exit $?`, "bash"}}
	require.NoError(t, os.Chown(m.Backing, nobody, nobody))
	require.NoError(t, os.Chown(m.Dir, nobody, nobody))
	m.start()
	t.Cleanup(m.end)
	return m
}

func TestStoryOnAMountOfAUser(t *testing.T) {
	t.Parallel()
	mayMount(t, "65534")
	m := mountAsNobody(t)
	m.Until("the mount says it", func() bool {
		return strings.Contains(m.log.String(), "only user nobody can use this mount, not even root")
	})
	m.story()
	require.ErrorIs(t, unix.Access(m.Path("in"), unix.F_OK), unix.EACCES, "root is not let in")
	out, err := exec.Command(binary, "status", m.Dir).CombinedOutput()
	require.Error(t, err, "%s", out)

	p := m.Start(`exec 3< in/broken; cd in; read`)
	m.Until("it is busy", func() bool {
		cmd := m.command(binary, "umount", m.Dir)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode() == 5 && strings.Contains(string(out), "is busy")
	})
	p.Kill()
	out, err = m.command(binary, "umount", m.Dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	m.waitEnd()
}
