package servers

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Network is a network of its own, where a server has an address that can be taken away from it.
type Network struct {
	t      *testing.T
	holder *Process
}

const ownAddress = "10.0.0.1"

func network(t *testing.T) *Network {
	t.Helper()
	n := &Network{t, start(t, nil, "unshare", "--net", "sh", "-c", "ip link set lo up && ip address add "+ownAddress+"/32 dev lo && "+
		// The kernel gives a connection up when nothing is acknowledged: after a second, not after 15 minutes or two hours.
		"cd /proc/sys/net/ipv4 && for i in retries2 keepalive_time keepalive_intvl keepalive_probes; do echo 1 >tcp_$i; done && echo up && exec sleep 1000")}
	n.holder.Says("up\n")
	return n
}

// Start starts a program in the network.
func (n *Network) Start(program string, args ...string) *Process {
	n.t.Helper()
	return start(n.t, nil, "nsenter", slices.Concat([]string{"--net", "--target", strconv.Itoa(n.holder.PID()), program}, args)...)
}

func (n *Network) must(program string, args ...string) {
	n.t.Helper()
	p := n.Start(program, args...)
	require.Zero(n.t, p.Wait(), p.Output())
}

// cuts are ways in which a connection goes without a word from the other end.
var cuts = map[string]func(*Network){
	// Nothing arrives any more, not even a reset, as when a client's machine loses its power or its network.
	"silence": func(n *Network) { n.must("ip", "address", "del", ownAddress+"/32", "dev", "lo") },
	// The kernel ends the connections (ss(8)), as on a server that is told that an address is gone.
	"socket killed": func(n *Network) {
		n.must("sh", "-c", "while [ -n \"$(ss --no-header --kill --tcp dst "+ownAddress+")\" ]; do :; done")
	},
}

// host is where the mount's servers listen.
func (m *Mount) host() string {
	if m.net != nil {
		return ownAddress
	}
	return "127.0.0.1"
}

func (m *Mount) address(port int) string { return net.JoinHostPort(m.host(), strconv.Itoa(port)) }

// start starts a server or a client where the mount's servers are.
func (m *Mount) start(program string, args ...string) *Process {
	m.t.Helper()
	if m.net != nil {
		return m.net.Start(program, args...)
	}
	return start(m.t, nil, program, args...)
}

// serve starts a server and waits until it accepts connections.
func (m *Mount) serve(port int, program string, args ...string) *Process {
	m.t.Helper()
	p := m.start(program, args...)
	until(m.t, "the server listens", func() bool { return p.Ended() || m.answers(port) })
	require.False(m.t, p.Ended(), p.Output())
	return p
}

func (m *Mount) answers(port int) bool {
	if m.net != nil {
		return m.net.Start("bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", ownAddress, port)).Wait() == 0
	}
	c, err := net.Dial("tcp", m.address(port))
	if err == nil {
		c.Close()
	}
	return err == nil
}

// whenCut runs a test in which a server with an upload half-way hears nothing more of its client, in each way.
func whenCut(t *testing.T, test func(t *testing.T, m *Mount, cut func())) {
	t.Parallel()
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.net = network(t)
			test(t, m, func() { cut(m.net) })
		})
	}
}

// A server that hears nothing asks, if it is told to, and then ends the session.
func TestI2_SSHHearsNothingMore(t *testing.T) {
	whenCut(t, func(t *testing.T, m *Mount, cut func()) {
		s := chrooted(m, "ClientAliveInterval 1", "ClientAliveCountMax 1")
		m.sftp(slowly, s).Say("put " + m.source(big) + " in/f")
		m.HalfWay("in/f")
		cut()
		m.Invisible("in/f")
		m.Until("in/f", "quarantined")
		m.Invisible("in/f")
	})
}

func TestI2_SCPHearsNothingMore(t *testing.T) {
	whenCut(t, func(t *testing.T, m *Mount, cut func()) {
		s := shells(m, "ClientAliveInterval 1", "ClientAliveCountMax 1")
		s.scp(s.port, "in/f", append(slowly, "-O")...)
		m.HalfWay("in/f")
		cut()
		m.Until("in/f", "quarantined")
		m.Invisible("in/f")
	})
}

// An FTP server that gives up mostly closes in order: what came is published, unless the server hid and removes it.
func TestFTPHearsNothingMore(t *testing.T) {
	for name, serve := range map[string]func(m *Mount) int{
		"vsftpd":                func(m *Mount) int { return vsftpd(m, "data_connection_timeout=1") },
		"proftpd":               func(m *Mount) int { return proftpd(m, "TimeoutStalled 1") },
		"proftpd, HiddenStores": func(m *Mount) int { return proftpd(m, "TimeoutStalled 1\nHiddenStores on") },
	} {
		t.Run(name, func(t *testing.T) {
			whenCut(t, func(t *testing.T, m *Mount, cut func()) {
				m.upload(serve(m), "f")
				cut()
				var i item
				until(t, "the session has ended", func() bool {
					i = m.Item("in/f")
					return i.State != "staged" && m.Item("in/.in.f.").State == ""
				})
				switch {
				case strings.Contains(name, "Hidden"):
					require.Empty(t, m.Must("ls -A in"))
				case i.State == "quarantined": // vsftpd fails if it misses the control connection first
					require.Contains(t, i.Reason, "ended with")
					m.Invisible("in/f")
				default:
					require.Equal(t, fmt.Sprint(small), m.Must("cat in/f | wc -c"))
					require.Equal(t, 1, m.warnings())
				}
			})
		})
	}
}

// smbd notices by the keepalive of its connection, closes in order, and what came is published.
func TestSMBHearsNothingMore(t *testing.T) {
	whenCut(t, func(t *testing.T, m *Mount, cut func()) {
		s := shares(m)
		_, err := s.smbclient(s.port, "put - f").In.Write(make([]byte, big))
		require.NoError(t, err)
		m.HalfWay("in/f")
		cut()
		m.Appears("in/f")
		require.Equal(t, 1, m.warnings())
	})
}
