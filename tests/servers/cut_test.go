package servers

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A connection is cut with a reset, as by a client's machine that went down and came back, or in order, as by a proxy.
func TestI2_SSHConnectionIsCut(t *testing.T) {
	for name, linger := range map[string]int{"reset": 0, "in order": -1} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			s := chrooted(m)
			w := wire(t, s.port)
			source := m.source(big)
			sftp(t, slowly, s.through(w.Port)).Say("put " + source + " in/f\nput " + source + " in/g")
			m.HalfWay("in/f")
			w.Cut(linger)
			m.Until("in/f", "quarantined")
			m.Invisible("in/f")
			m.takesAnew(s.through(s.port), source)
		})
	}
}

func TestSSHConnectionIsCutAndATempNameResumed(t *testing.T) {
	m := mount(t)
	s := chrooted(m)
	w := wire(t, s.port)
	source := m.source(big)
	sftp(t, slowly, s.through(w.Port)).Say("put " + source + " in/f.part")
	m.HalfWay("in/f.part")
	w.Cut(0)
	m.Until("in/f.part", "abandoned")
	c := sftp(t, nil, s.through(s.port))
	c.Say("reput " + source + " in/f.part\nrename in/f.part in/f")
	m.HandedOver("in/f", source)
}

// scpModes are scp over SFTP, the default, and as it was before OpenSSH 9.
var scpModes = map[string][]string{"sftp": nil, "legacy": {"-O"}}

func TestI1_SCPUploadAppearsWhole(t *testing.T) {
	for name, mode := range scpModes {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			s := shells(m)
			c := s.scp(s.port, "in/f", append(mode, "-p")...)
			m.HandedOver("in/f", m.source(big))
			if status := c.Wait(); status != 0 {
				t.Errorf("scp ends with %d: %s", status, c.Output())
			}
		})
	}
}

func TestI2_SCPConnectionIsCut(t *testing.T) {
	for name, mode := range scpModes {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			s := shells(m)
			w := wire(t, s.port)
			s.scp(w.Port, "in/f", append(mode, slowly...)...)
			m.HalfWay("in/f")
			w.Cut(0)
			m.Until("in/f", "quarantined")
			m.Invisible("in/f")
		})
	}
}

func TestI2_SCPClientKilledHalfWay(t *testing.T) {
	for name, mode := range scpModes {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			s := shells(m)
			c := s.scp(s.port, "in/f", append(mode, slowly...)...)
			m.HalfWay("in/f")
			c.Kill()
			m.Until("in/f", "quarantined")
			m.Invisible("in/f")
		})
	}
}

// Since OpenSSH 9.8 the task that serves a session is called sshd-session.
func TestI2_SSHDSessionIsAServerToo(t *testing.T) {
	m := mount(t)
	program := filepath.Join(scratch(t), "sshd-session")
	m.Must("cp /usr/sbin/sshd " + program)
	s := startSSHD(m, program, "nobody", "Subsystem sftp internal-sftp", "ForceCommand internal-sftp", "ChrootDirectory "+m.Dir)
	c := m.sftp(slowly, s)
	c.Say("put " + m.source(big) + " in/f")
	require.Equal(t, "sshd-session", m.HalfWay("in/f").Owner.Program)
	c.Kill()
	require.Contains(t, m.Until("in/f", "quarantined").Reason, "sshd-session")
	m.Invisible("in/f")
}
