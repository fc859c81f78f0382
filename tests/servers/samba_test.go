package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// samba writes the configuration of an smbd that serves "in" to guests, with everything it keeps in a folder of its own.
func samba(m *Mount, port int, settings ...string) string {
	m.t.Helper()
	dir := scratch(m.t)
	config := fmt.Sprintf("[global]\nserver role = standalone server\nserver min protocol = NT1\nclient min protocol = NT1\ninterfaces = lo\nbind interfaces only = yes\nsmb ports = %d\n"+
		"smb2 max write = 65536\nmap to guest = bad user\nguest account = nobody\nload printers = no\ndisable spoolss = yes\ndisable netbios = yes\n"+
		"log file = %s/log\nncalrpc dir = %s/ncalrpc\n", port, dir, dir)
	for _, kind := range []string{"private", "lock", "state", "cache", "pid"} {
		config += fmt.Sprintf("%s directory = %s\n", kind, dir)
	}
	config += fmt.Sprintf("[in]\npath = %s/in\nguest only = yes\nread only = no\n%s\n", m.Dir, strings.Join(settings, "\n"))
	name := filepath.Join(dir, "smb.conf")
	require.NoError(m.t, os.WriteFile(name, []byte(config), 0o644))
	return name
}

// share is an smbd that runs.
type share struct {
	m      *Mount
	config string
	port   int
}

func shares(m *Mount, settings ...string) *share {
	m.t.Helper()
	s := &share{m: m, port: 445}
	if m.net == nil {
		s.port = freePort(m.t)
	}
	s.config = samba(m, s.port, settings...)
	m.serve(s.port, "/usr/sbin/smbd", "-F", "--no-process-group", "-s", s.config)
	until(m.t, "smbd has set itself up", func() bool { return s.smbclient(s.port, "pwd").Wait() == 0 }) // it listens before that
	return s
}

// smbclient starts a client; without commands it takes one at a time from its input.
func (s *share) smbclient(port int, commands ...string) *Process {
	args := []string{"-oL", "smbclient", "-s", s.config, "-N", "-p", strconv.Itoa(port), "//" + s.m.host() + "/in"}
	if len(commands) > 0 {
		args = append(args, "-c", strings.Join(commands, ";"))
	}
	return s.m.start("stdbuf", args...)
}

// upload starts an upload of f that stays half-way until the wire is opened.
func (s *share) upload() (*Process, *Wire) {
	s.m.t.Helper()
	w := stuck(s.m.t, s.port, big/4)
	return s.smbclient(w.Port, "put "+s.m.source(big)+" f"), w
}

func TestI1_SMBUploadAppearsWhole(t *testing.T) {
	m := mount(t)
	s := shares(m)
	c, w := s.upload()
	m.HalfWay("in/f")
	w.Open()
	require.Zero(t, c.Wait(), c.Output())
	require.Equal(t, fmt.Sprint(big), m.Must("cat in/f | wc -c"))
}

// smbd closes in order when its client is gone: half a file looks like a whole one.
func TestSMBBrokenUploadCanNotBeTold(t *testing.T) {
	for name, cut := range map[string]func(*Process, *Wire){
		"client killed":    func(c *Process, w *Wire) { c.Kill(); w.Cut(-1) },
		"connection reset": func(_ *Process, w *Wire) { w.Cut(0) },
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			s := shares(m)
			c, w := s.upload()
			m.HalfWay("in/f")
			cut(c, w)
			m.Appears("in/f")
			require.NotEqual(t, fmt.Sprint(big), m.Must("cat in/f | wc -c"))
			require.Equal(t, 1, m.warnings())
		})
	}
}

func TestI2_SMBServerKilledHalfWay(t *testing.T) {
	m := mount(t)
	s := shares(m)
	s.upload()
	m.HalfWay("in/f").kill(t)
	m.Until("in/f", "quarantined")
	m.Invisible("in/f")
}

// With publish=rename only what the client renames is handed over.
func TestSMBWithPublishRename(t *testing.T) {
	m := mount(t, "--rule", "in/**=queue,publish=rename")
	s := shares(m)
	c, w := s.upload()
	m.HalfWay("in/f")
	c.Kill()
	w.Cut(-1)
	m.Until("in/f", "held")
	m.Invisible("in/f")
	source := m.source(small)
	c = s.smbclient(s.port, "put "+source+" g", "rename g f2")
	require.Zero(t, c.Wait(), c.Output())
	m.HandedOver("in/f2", source)
	require.Zero(t, m.warnings())
}

// TestI3_TwoSMBClientsGetAndDelete: of two that download and delete a file, one has it.
func TestI3_TwoSMBClientsGetAndDelete(t *testing.T) {
	m := mount(t)
	s := shares(m)
	m.Must("echo data > in/f && chmod 666 in/f")
	get := []string{"get f /dev/null", "del f"}
	one, two := s.smbclient(s.port, get...), s.smbclient(s.port, get...)
	won := 0
	for _, c := range []*Process{one, two} {
		if c.Wait(); !strings.Contains(c.Output(), "NT_STATUS") {
			won++
		}
	}
	require.Equal(t, 1, won, "%s\n%s", one.Output(), two.Output())
	require.Equal(t, 1, strings.Count(one.Output()+two.Output(), "getting file"))
	require.Equal(t, 1, strings.Count(m.daemon.Output(), "msg=settled path=in/f"))
	m.Invisible("in/f")
}

// TestI3_SMBListClaimsNothing: a list takes nothing away.
func TestI3_SMBListClaimsNothing(t *testing.T) {
	m := mount(t)
	s := shares(m)
	m.Must("echo data > in/f && chmod 666 in/f")
	c := s.smbclient(s.port)
	c.Say("ls")
	c.Says("blocks available")
	worker := m.claims("in/f")
	c.Say("ls f")
	c.Says("NT_STATUS_NO_SUCH_FILE") // it is the worker's
	worker.Say("cat in/f && rm in/f; exit")
	require.Zero(t, worker.Wait())
	require.Contains(t, worker.Output(), "data")
}

// A preview, or a look at a file's properties, claims while its session lasts, and a minute at most.
func TestI3_SMBPreviewClaimsForItsSessionOnly(t *testing.T) {
	for command, answer := range map[string]string{"get f /dev/null": "getting file", "allinfo f": "stream: "} {
		t.Run(command, func(t *testing.T) {
			m := mount(t)
			s := shares(m)
			m.Must("echo data > in/f && chmod 666 in/f")
			c := s.smbclient(s.port)
			c.Say(command)
			c.Says(answer)
			m.Until("in/f", "claimed")
			c.Say("quit")
			require.Zero(t, c.Wait(), c.Output())
			m.Until("in/f", "")
			require.Equal(t, "data", m.Must("cat in/f"))
		})
	}
}

// The session that uploaded may set times, and look at them, while a worker works.
func TestSMBPublisherSetsTimesWhileAWorkerWorks(t *testing.T) {
	m := mount(t)
	s := shares(m)
	c := s.smbclient(s.port)
	c.Say("put " + m.source(small) + " f")
	c.Says("putting file")
	worker := m.claims("in/f")
	c.Say("utimes f -1 -1 2001:02:03-04:05:06 -1")
	until(t, "the time is set", func() bool { return strings.HasPrefix(m.Must("stat -c %y "+m.claimed("f")), "2001-02-03") })
	c.Say("ls f")
	c.Says("2001")
	require.NotContains(t, c.Output(), "NT_STATUS")
	worker.Say("rm in/f")
	require.Zero(t, worker.Wait(), worker.Output())
}

// claimed is where a claimed file's bytes are.
func (m *Mount) claimed(name string) string {
	return m.Must("find " + m.Backing + "/.airlockfs -name " + name + " -type f")
}

// smbd opens a file first with O_PATH, then by way of /proc/self/fd, where it can't be sent to another node.
func TestSMBUploadOverAPublicFile(t *testing.T) {
	m := mount(t)
	s := shares(m)
	m.Must("echo first > in/f && chmod 666 in/f")
	second := m.source(small)
	s.smbclient(s.port, "put "+second+" f").well()
	m.HandedOver("in/f", second)
}
