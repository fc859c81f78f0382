package tests

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// supervised is a mount whose daemon tells a supervisor what it does, as systemd's services do (sd_notify(3)).
type supervised struct {
	*Mount
	socket *net.UnixConn
}

func supervise(t *testing.T, abstract bool, flags ...string) *supervised {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: flags}
	name := filepath.Join(scratch(t), "notify")
	if abstract {
		name = "@" + name
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { socket.Close() })
	m.env = []string{"NOTIFY_SOCKET=" + name}
	m.launch()
	t.Cleanup(m.end)
	return &supervised{m, socket}
}

// told is the next thing that the supervisor is told.
func (s *supervised) told() []string {
	s.t.Helper()
	text := make([]byte, 4096)
	require.NoError(s.t, s.socket.SetReadDeadline(time.Now().Add(patience)))
	n, err := s.socket.Read(text)
	require.NoError(s.t, err, s.log)
	return strings.Split(string(text[:n]), "\n")
}

// TestSupervisedDaemonComesBack: who supervises the daemon need do nothing but start it again, whatever it died of.
func TestSupervisedDaemonComesBack(t *testing.T) {
	s := supervise(t, true)
	require.Contains(t, s.told(), "READY=1")
	s.Must("printf text > f; printf text > g")
	worker := s.Client()
	worker.OK("open f f r", "open w new.tmp wct", "write w text", "close w")
	require.Equal(t, "4 bytes, 1 links", worker.Call("stat", "new.tmp"), "its end is seen")
	for range 3 {
		require.NoError(t, syscall.Kill(s.pid(), syscall.SIGKILL))
		require.Error(t, <-s.exited)
		require.Equal(t, "ENOTCONN", worker.Call("read", "f"), "meanwhile")
		require.Equal(t, "ENOTCONN", worker.Call("open", "g", "g", "r"))
		require.Equal(t, "ENOTCONN", worker.Call("open", "g", s.Path("g"), "r"))

		s.launch()
		require.Contains(t, s.told(), "READY=1")
		s.untilLogged("detaching the mount of a daemon that died")
		require.Equal(t, "text", s.Must("cat g"))
		require.Equal(t, "ENOENT", s.Client().Call("unlink", "f"), "its claimant lives")
		require.Equal(t, "ENOTCONN", worker.Call("read", "f"), "a descriptor is as dead as its daemon")
		worker.OK("chdir "+s.Dir, "open f f r")
		require.Equal(t, "text", worker.Call("read", "f"))
	}
	worker.OK("rename new.tmp new", "unlink f", "close f")
	require.Equal(t, "text", s.Must("cat new"))
}

// TestSupervisorWaitsForADrain: it would kill the daemon else.
func TestSupervisorWaitsForADrain(t *testing.T) {
	s := supervise(t, false, "--drain", "10m")
	require.Contains(t, s.told(), "READY=1")
	s.Must("printf text > f")
	worker := s.Client()
	worker.OK("open f f r")
	s.terminate()
	told := s.told()
	require.Contains(t, told, "STOPPING=1")
	require.Contains(t, told, "EXTEND_TIMEOUT_USEC=610000000")
	require.Contains(t, told, "STATUS=draining, 1 under way")
	worker.OK("unlink f")
	s.waitEnd()
}

// TestUnitOfSystemd: the commands of README.md install a unit that systemd understands, with a manual that there is and a
// command line that the daemon understands, though the bare mountpoint is nobody's.
func TestUnitOfSystemd(t *testing.T) {
	root := scratch(t)
	absolute := strings.NewReplacer(" /etc/", " "+root+"/etc/", " /srv/", " "+root+"/srv/", " docs/", " ../docs/", "airlockfs rules", binary+" rules")
	installed := exec.Command("bash", "-ec", absolute.Replace(installCommands(t)))
	out, err := installed.CombinedOutput()
	require.NoError(t, err, "%s", out)

	unit := content(t, root+"/etc/systemd/system/airlockfs@.service")
	path := filepath.Join(root, "airlockfs@drop.service")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(unit, "/usr/local/bin/airlockfs", binary)), 0o644))
	out, err = exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))

	page := regexp.MustCompile(`Documentation=man:([a-z]+)\(([0-9])\)`).FindStringSubmatch(unit)
	require.NoError(t, exec.Command(binary, "man", root).Run())
	require.FileExists(t, root+"/"+page[1]+"."+page[2])

	_, start, _ := strings.Cut(unit, "\nExecStart=")
	start, _, _ = strings.Cut(start, "\n")
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(start, " /", " "+root+"/"), "%i", "drop"))
	n := len(words) - 2 // BACKING MOUNTPOINT
	require.Equal(t, []string{"/usr/local/bin/airlockfs", "mount", "-f"}, words[:3])
	m := &Mount{t: t, Backing: words[n], Dir: words[n+1], flags: words[3:n]}
	m.start()
	t.Cleanup(m.end)
	require.Contains(t, m.Must("%s rules done/f", binary), "archive")
}

// installCommands are those of README.md that install the unit, without those that need a systemd, or a disk for chattr(1).
func installCommands(t *testing.T) string {
	t.Helper()
	_, text, found := strings.Cut(content(t, "../README.md"), "\n## As a service\n")
	require.True(t, found)
	commands := strings.Split(text, "\n```")[1]
	require.Contains(t, commands, "systemctl enable --now airlockfs@drop")
	return regexp.MustCompile(`(?m)^(systemctl|chattr) .*`).ReplaceAllString(commands, "")
}

// TestUnitStaysDownAfterMistakes: systemd starts the daemon again unless it ends with these.
func TestUnitStaysDownAfterMistakes(t *testing.T) {
	unit := content(t, "../docs/examples/airlockfs@.service")
	backing, at := scratch(t), scratch(t)
	for _, args := range [][]string{{"--config", at + "/missing.yaml", backing, at}, {"--linger", "soon", backing, at}, {backing + "/missing", at}} {
		cmd := exec.Command(binary, append([]string{"mount", "-f"}, args...)...)
		require.Error(t, cmd.Run())
		require.Regexp(t, `(?m)^RestartPreventExitStatus=.*\b`+strconv.Itoa(cmd.ProcessState.ExitCode())+`\b`, unit)
	}
}
