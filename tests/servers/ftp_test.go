package servers

import (
	"fmt"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ftpServers serve a mount to anonymous users, who may do everything in "in". They give their port.
var ftpServers = map[string]func(m *Mount) int{
	"vsftpd":                func(m *Mount) int { return vsftpd(m) },
	"proftpd":               func(m *Mount) int { return proftpd(m) },
	"proftpd, HiddenStores": func(m *Mount) int { return proftpd(m, "HiddenStores on") },
}

// overFTP runs a test against each FTP server.
func overFTP(t *testing.T, flags []string, test func(t *testing.T, m *Mount, port int)) {
	t.Parallel()
	for name, serve := range ftpServers {
		t.Run(name, func(t *testing.T) {
			m := mount(t, flags...)
			test(t, m, serve(m))
		})
	}
}

// curl starts an FTP client.
func (m *Mount) curl(args ...string) *Process {
	m.t.Helper()
	return m.start("curl", append([]string{"-sS", "--max-time", "60"}, args...)...)
}

func (m *Mount) ftp(port int, name string) string {
	return fmt.Sprintf("ftp://%s/in/%s", m.address(port), name)
}

// upload starts an upload that is half-way until its input is closed.
func (m *Mount) upload(port int, name string) *Process {
	m.t.Helper()
	c := m.curl("-T", "-", m.ftp(port, name))
	_, err := c.In.Write(make([]byte, small))
	require.NoError(m.t, err, c.Output())
	m.someComes()
	return c
}

// someComes waits until some bytes of a file have come, under whatever name, and nobody sees it.
func (m *Mount) someComes() item {
	m.t.Helper()
	var i item
	until(m.t, "an upload is half-way", func() bool {
		for _, name := range []string{"in/f", "in/g", "in/f.part", "in/.in.f.", "in/.in.g."} {
			if i = m.Item(name); i.State == "staged" && i.Size > 0 {
				return true
			}
		}
		return false
	})
	require.Empty(m.t, m.Must("ls -A in"))
	return i
}

func TestI1_FTPUploadAppearsWhole(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		c := m.upload(port, "f")
		m.Invisible("in/f")
		require.NoError(t, c.In.Close())
		require.Zero(t, c.Wait(), c.Output())
		require.Equal(t, fmt.Sprint(small), m.Must("cat in/f | wc -c"))
		require.Equal(t, 1, m.warnings())
	})
}

// vsftpd locks what is uploaded before its first byte.
func TestFTPSmallFilesAreHandedOver(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		for name, content := range map[string]string{"empty": "", "number": "4711\n"} {
			source := filepath.Join(scratch(t), "source")
			require.NoError(t, os.WriteFile(source, []byte(content), 0o644))
			c := m.curl("-T", source, m.ftp(port, name))
			require.Zero(t, c.Wait(), c.Output())
			require.Equal(t, name, m.Must("ls -A in"))
			m.HandedOver("in/"+name, source)
			m.Must("rm in/" + name)
		}
	})
}

// FTP takes the end of its data connection, which is also what a client's death brings, for the end of the file: half of
// it looks like a whole one, also to a server that hides what it receives until then.
func TestFTPClientKilledCanNotBeTold(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		m.upload(port, "f").Kill()
		m.Appears("in/f")
		require.Equal(t, fmt.Sprint(small), m.Must("cat in/f | wc -c"), "half of a file, as far as its client is concerned")
		require.Equal(t, 1, m.warnings())
	})
}

// With publish=rename only what the client renames is handed over. That ProFTPD gives what it hid its name does not count.
func TestFTPWithPublishRename(t *testing.T) {
	overFTP(t, []string{"--rule", "in/**=queue,publish=rename"}, func(t *testing.T, m *Mount, port int) {
		m.upload(port, "f").Kill()
		m.Until("in/f", "held")
		m.Invisible("in/f")
		source := m.source(small)
		c := m.curl("-T", source, "-Q", "-RNFR /in/g", "-Q", "-RNTO /in/f2", m.ftp(port, "g"))
		require.Zero(t, c.Wait(), c.Output())
		m.HandedOver("in/f2", source)
		require.Zero(t, m.warnings())
	})
}

// A server that is killed is no client that was done.
func TestI2_FTPServerKilledHalfWay(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		m.upload(port, "f")
		i := m.someComes()
		i.kill(t)
		m.Until(i.Path, map[bool]string{true: "quarantined", false: "abandoned"}[i.Path == "in/f"])
		m.Invisible("in/f")
	})
}

// A list claims nothing; a download claims for its session.
func TestI3_FTPDownloadClaimsForItsSessionOnly(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		m.Must("echo data > in/f && chmod 666 in/f")
		require.Zero(t, m.curl(m.ftp(port, "")).Wait())
		require.Equal(t, "data", m.Must("cat in/f"))
		c := m.curl(m.ftp(port, "f"))
		require.Zero(t, c.Wait(), c.Output())
		require.Contains(t, c.Output(), "data")
		claimed := regexp.MustCompile(`claimed path=in/f by="pid \d+ \(\w*ftpd\)"`)
		until(t, "the log tells of the claim", func() bool { return claimed.MatchString(m.daemon.Output()) })
		m.Until("in/f", "")
		require.Zero(t, attempts(m, "in/f"))
		require.Equal(t, "data", m.Must("cat in/f"))
	})
}

// An upload to a temp name is resumed by another session, and handed over by the client's rename.
func TestFTPResumesATempName(t *testing.T) {
	for _, name := range []string{"vsftpd", "proftpd"} { // with HiddenStores ProFTPD resumes nothing
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			port := ftpServers[name](m)
			source := m.source(2 * small)
			m.upload(port, "f.part").Kill()
			until(t, "its session has ended", func() bool { return m.Item("in/f.part").State != "staged" })
			m.Unlisted("in/f.part")
			c := m.curl("-C", fmt.Sprint(small), "-T", source, "-Q", "-RNFR /in/f.part", "-Q", "-RNTO /in/f", m.ftp(port, "f.part"))
			require.Zero(t, c.Wait(), c.Output())
			m.Must("[ $(stat -c %s in/f) = 200000 ] && tail -c 100000 in/f | cmp - <(tail -c 100000 " + source + ")")
		})
	}
}

// The session that uploaded may verify size and time while a worker works.
func TestFTPPublisherLooksWhileAWorkerWorks(t *testing.T) {
	overFTP(t, nil, func(t *testing.T, m *Mount, port int) {
		source := m.source(small)
		c := start(t, nil, "lftp", "-c", "set net:timeout 10; set cmd:fail-exit true; source /dev/stdin")
		c.Say(fmt.Sprintf("open ftp://%s\nput %s -o in/f", address(port), source))
		worker := m.claims("in/f")
		c.Say("quote SIZE /in/f\nquote MDTM /in/f\nquit")
		require.Zero(t, c.Wait(), c.Output())
		require.Contains(t, c.Output(), "213 100000")
		worker.Say("rm in/f; exit")
		require.Zero(t, worker.Wait(), worker.Output())
	})
}

// stor is the data connection of an upload of in/f that is half-way.
func stor(t *testing.T, port int) *net.TCPConn {
	t.Helper()
	c, err := textproto.Dial("tcp", address(port))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	answer := func(code int) string {
		_, text, err := c.ReadResponse(code)
		require.NoError(t, err)
		return text
	}
	answer(220)
	for _, step := range []struct {
		line string
		code int
	}{{"USER anonymous", 331}, {"PASS anonymous@", 230}, {"TYPE I", 200}, {"EPSV", 229}} {
		require.NoError(t, c.PrintfLine("%s", step.line))
		if text := answer(step.code); step.line == "EPSV" {
			_, err = fmt.Sscanf(text[strings.Index(text, "("):], "(|||%d|)", &port)
			require.NoError(t, err)
		}
	}
	data, err := net.Dial("tcp", address(port))
	require.NoError(t, err)
	require.NoError(t, c.PrintfLine("STOR in/f"))
	answer(150)
	_, err = data.Write(make([]byte, small))
	require.NoError(t, err)
	return data.(*net.TCPConn)
}

// reset breaks an upload off as by a client's machine that went down and came back.
func (m *Mount) reset(port int) {
	m.t.Helper()
	data := stor(m.t, port)
	m.someComes()
	require.NoError(m.t, data.SetLinger(0))
	require.NoError(m.t, data.Close())
}

// A server that knows nothing of hidden uploads leaves what came before a reset.
func TestFTPConnectionResetCanNotBeTold(t *testing.T) {
	for _, name := range []string{"vsftpd", "proftpd"} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.reset(ftpServers[name](m))
			m.Appears("in/f")
			require.Equal(t, fmt.Sprint(small), m.Must("cat in/f | wc -c"))
		})
	}
}

// Some servers can be told to remove what was broken off by a reset; vsftpd may show it for a moment.
func TestFTPBrokenUploadIsRemovedByTheServerIfReset(t *testing.T) {
	for name, serve := range map[string]func(m *Mount) int{
		"vsftpd":  func(m *Mount) int { return vsftpd(m, "delete_failed_uploads=YES") },
		"proftpd": ftpServers["proftpd, HiddenStores"],
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.reset(serve(m))
			until(t, "it is gone", func() bool {
				return m.Item("in/f").State+m.Item("in/.in.f.").State == "" && m.Must("ls -A in") == ""
			})
		})
	}
}
