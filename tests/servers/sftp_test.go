package servers

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// overSFTP runs a test against each way to serve SFTP.
func overSFTP(t *testing.T, test func(t *testing.T, m *Mount, server []string)) {
	t.Parallel()
	t.Run("sftp-server", func(t *testing.T) {
		m := mount(t)
		test(t, m, pipe(m))
	})
	t.Run("internal-sftp", func(t *testing.T) {
		m := mount(t)
		s := chrooted(m)
		test(t, m, s.through(s.port))
	})
}

func TestI1_SFTPUploadAppearsWhole(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(big)
		c := sftp(t, quickly, server)
		c.Say("put " + source + " in/f")
		m.HalfWay("in/f")
		m.HandedOver("in/f", source)
	})
}

func TestSFTPEmptyFileIsHandedOver(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		c := sftp(t, nil, server)
		c.Say("put " + m.source(0) + " in/f")
		c.Says("in/f")
		m.HandedOver("in/f", "/dev/null")
	})
}

func TestI2_SFTPClientKilledHalfWay(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(big)
		c := sftp(t, slowly, server)
		c.Say("put " + source + " in/f")
		m.HalfWay("in/f")
		c.Kill()
		i := m.Until("in/f", "quarantined")
		require.Contains(t, i.Reason, "after")
		m.Invisible("in/f")
		m.takesAnew(server, source)
	})
}

func TestI2_SFTPServerKilledHalfWay(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(big)
		c := sftp(t, slowly, server)
		c.Say("put " + source + " in/f")
		m.HalfWay("in/f").kill(t)
		m.Until("in/f", "quarantined")
		m.Invisible("in/f")
		m.takesAnew(server, source)
	})
}

// takesAnew: the next session uploads the same file under the same name.
func (m *Mount) takesAnew(server []string, source string) {
	m.t.Helper()
	c := sftp(m.t, nil, server)
	c.Say("put " + source + " in/f")
	m.HandedOver("in/f", source)
}

// A broken upload of a final name can't be resumed: nobody sees it. The client is told, and sends it anew.
func TestI2_SFTPResumeOfAFinalNameIsRefused(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(big)
		c := sftp(t, slowly, server)
		c.Say("put " + source + " in/f")
		m.HalfWay("in/f")
		c.Kill()
		m.Until("in/f", "quarantined")
		c = sftp(t, nil, server)
		c.Say("reput " + source + " in/f\nbye")
		require.NotZero(t, c.Wait(), c.Output())
		m.Invisible("in/f")
		m.takesAnew(server, source)
	})
}

// Clients that upload to NAME.filepart can resume, and rename what is complete.
func TestSFTPResumesATempName(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(big)
		c := sftp(t, slowly, server)
		c.Say("put " + source + " in/f.filepart")
		m.HalfWay("in/f.filepart")
		c.Kill()
		half := m.Until("in/f.filepart", "abandoned")
		m.Unlisted("in/f.filepart")
		c = sftp(t, nil, server)
		c.Say("reput " + source + " in/f.filepart\nrename in/f.filepart in/f\nbye")
		require.Zero(t, c.Wait(), c.Output())
		require.Less(t, 0, int(half.Size))
		m.HandedOver("in/f", source)
		require.Empty(t, m.Item("in/f.filepart").State)
	})
}

// The publisher may verify the size, and set times and rights, of what a worker has claimed already.
func TestSFTPPublisherSetsRightsWhileAWorkerWorks(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		source := m.source(small)
		c := sftp(t, nil, server)
		c.Say("put " + source + " in/f")
		worker := m.claims("in/f")
		c.Say("ls -l in/f\nchmod 640 in/f\nls -l in/f\nput -p " + source + " in/g\nbye")
		require.Zero(t, c.Wait(), c.Output())
		require.Regexp(t, `(?s)100000.*-rw-r----- .*100000`, c.Output())
		worker.Say("stat -c %a in/f; rm in/f; exit")
		require.Zero(t, worker.Wait(), worker.Output())
		require.Contains(t, worker.Output(), "640")
		require.Equal(t, m.Must("stat -c %Y "+source), m.Must("stat -c %Y in/g"))
		require.Equal(t, "g", m.Must("ls in"))
	})
}

// claims waits for a file, and claims it for a shell that does what it is told. Nobody else sees it then.
func (m *Mount) claims(path string) *Process {
	m.t.Helper()
	m.Appears(path)
	worker := m.Start("exec 3<" + path + "; echo claimed; read -r command; eval \"$command\"")
	worker.Says("claimed")
	m.Invisible(path)
	return worker
}

// TestI3_SFTPBrowsingClaimsNothing: neither a list nor a look at one file takes it away.
func TestI3_SFTPBrowsingClaimsNothing(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		m.Must("echo data > in/f")
		c := sftp(t, nil, server)
		c.Say("ls -l in\nls -l in/f\ndf -h in\n!echo seen")
		c.Says("seen\n")
		require.Contains(t, c.Output(), "in/f")
		worker := m.claims("in/f")
		c.Say("ls -l in/f\nbye")
		require.NotZero(t, c.Wait(), "it is the worker's")
		worker.Say("cat in/f && rm in/f; exit")
		require.Zero(t, worker.Wait())
		require.Contains(t, worker.Output(), "data")
	})
}

// A download claims while its session lasts, and a minute at most.
func TestI3_SFTPDownloadClaimsForItsSessionOnly(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		m.Must("echo data > in/f")
		c := sftp(t, nil, server)
		c.Say("get in/f /dev/null\n!echo seen")
		c.Says("seen\n")
		require.Equal(t, "claimed", m.Item("in/f").State)
		m.Invisible("in/f")
		c.Say("bye")
		require.Zero(t, c.Wait(), c.Output())
		m.Until("in/f", "")
		require.Zero(t, attempts(m, "in/f"))
		require.Equal(t, "data", m.Must("cat in/f"))
	})
}

func attempts(m *Mount, path string) int {
	n, err := strconv.Atoi(m.Must("getfattr --only-values -n user.airlockfs.attempts " + path))
	require.NoError(m.t, err)
	return n
}

// A session that idles with what it downloaded gives it back; its own rename or removal is then refused.
func TestI5_SFTPIdleDownloadIsGivenBack(t *testing.T) {
	m := mount(t, "--linger", "1s")
	m.Must("echo data > in/f")
	c := sftp(t, nil, pipe(m))
	c.Say("get in/f /dev/null")
	m.Until("in/f", "claimed")
	m.Until("in/f", "")
	c.Say("rm in/f\nbye")
	require.NotZero(t, c.Wait(), c.Output())
	require.Equal(t, "data", m.Must("cat in/f"))
}

// TestI3_TwoSFTPClientsGetAndRemove: of two that download and remove a file, one has it.
func TestI3_TwoSFTPClientsGetAndRemove(t *testing.T) {
	overSFTP(t, func(t *testing.T, m *Mount, server []string) {
		m.Must("echo data > in/f")
		one, two := sftp(t, nil, server), sftp(t, nil, server)
		one.Say("get in/f /dev/null")
		m.Until("in/f", "claimed")
		two.Say("get in/f /dev/null\nbye")
		require.NotZero(t, two.Wait(), two.Output())
		two = sftp(t, nil, server)
		two.Say("rm in/f\nbye")
		require.NotZero(t, two.Wait(), two.Output())
		one.Say("rm in/f\nbye")
		require.Zero(t, one.Wait(), one.Output())
		m.Invisible("in/f")
	})
}
