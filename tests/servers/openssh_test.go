package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// noHost makes an OpenSSH client ask nothing and remember nothing.
var noHost = []string{"-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}

// sshd is OpenSSH's daemon on a loopback port, before a mount.
type sshd struct {
	m      *Mount
	daemon *Process
	port   int
	key    string
	user   string
}

// chrooted serves SFTP alone, below the mount's root, to an ordinary user.
func chrooted(m *Mount, settings ...string) *sshd {
	return startSSHD(m, "/usr/sbin/sshd", "nobody", append(settings, "Subsystem sftp internal-sftp", "ForceCommand internal-sftp", "ChrootDirectory "+m.Dir)...)
}

// shells serves root anything: sftp-server, and scp as a program.
func shells(m *Mount, settings ...string) *sshd {
	return startSSHD(m, "/usr/sbin/sshd", "root", append(settings, "Subsystem sftp /usr/lib/openssh/sftp-server", "PermitRootLogin yes",
		"SetEnv SHLVL=2")...) // so bash(1) does not take itself for the first shell, and reads no start-up file
}

func startSSHD(m *Mount, program, user string, settings ...string) *sshd {
	m.t.Helper()
	dir, port := scratch(m.t), freePort(m.t)
	s := &sshd{m: m, port: port, key: filepath.Join(dir, "user"), user: user}
	for _, name := range []string{"host", "user"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput()
		require.NoError(m.t, err, "%s", out)
	}
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/user.pub\nStrictModes no\n"+
		"PasswordAuthentication no\nUsePAM no\nUseDNS no\n", m.address(port), dir, dir)
	for _, line := range settings {
		config += line + "\n"
	}
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "sshd_config"), []byte(config), 0o644))
	require.NoError(m.t, os.MkdirAll("/run/sshd", 0o755)) // compiled into sshd: where its unprivileged half lives
	s.daemon = m.serve(port, program, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	return s
}

// through are the arguments of sftp for a connection by way of a port.
func (s *sshd) through(port int) []string {
	return append(noHost, "-i", s.key, "-P", strconv.Itoa(port), s.user+"@"+s.m.host())
}

// scp copies a file to a name below the mount.
func (s *sshd) scp(port int, name string, options ...string) *Process {
	if s.user == "root" {
		name = s.m.Dir + "/" + name
	}
	args := append(append(options, noHost...), "-i", s.key, "-P", strconv.Itoa(port))
	return s.m.start("scp", append(args, s.m.source(big), s.user+"@"+s.m.host()+":"+name)...)
}

// pipe are the arguments of sftp that runs OpenSSH's sftp-server itself, on a pipe, in the mount.
func pipe(m *Mount) []string { return []string{"-D", "/usr/lib/openssh/sftp-server -d " + m.Dir} }

// sftp starts a client that takes commands from its input and stops at the first that fails. It says each one it takes.
func sftp(t *testing.T, options []string, server []string) *Process {
	t.Helper()
	return start(t, nil, "sftp", append(append([]string{"-b", "-"}, options...), server...)...)
}

// sftp is the same where the mount's servers are.
func (m *Mount) sftp(options []string, s *sshd) *Process {
	m.t.Helper()
	return m.start("sftp", slices.Concat([]string{"-b", "-"}, options, s.through(s.port))...)
}

// slowly makes an OpenSSH client send 200 KB/s: big takes it 20 seconds.
var slowly = []string{"-l", "1600"}

// quickly makes it send 4 MB/s: big is seen half-way, and complete soon.
var quickly = []string{"-l", "32000"}

// big is the size of a file that no transfer of ours finishes at once, small that of one that does; in bytes.
const big, small = 4_000_000, 100_000

// source makes a file of a size outside the mount.
func (m *Mount) source(size int) string {
	m.t.Helper()
	name := filepath.Join(scratch(m.t), "source")
	content := make([]byte, size)
	for n := range content {
		content[n] = byte(n / 251 * 7)
	}
	require.NoError(m.t, os.WriteFile(name, content, 0o644))
	return name
}

// HandedOver waits until a worker can take a file, and has it look whether that is whole.
func (m *Mount) HandedOver(path, source string) {
	m.t.Helper()
	worker := m.claims(path)
	worker.Say("cmp " + path + " " + source + "; exit $?")
	require.Zero(m.t, worker.Wait(), worker.Output())
}
