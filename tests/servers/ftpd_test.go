package servers

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// vsftpd is one process for each session.
func vsftpd(m *Mount, settings ...string) int {
	m.t.Helper()
	dir, port := scratch(m.t), freePort(m.t)
	require.NoError(m.t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	config := fmt.Sprintf("listen=YES\nlisten_address=%s\nlisten_port=%d\nbackground=NO\nsecure_chroot_dir=%s/empty\n"+
		"anonymous_enable=YES\nanon_root=%s\nanon_umask=022\nallow_writeable_chroot=YES\nwrite_enable=YES\n"+
		"anon_upload_enable=YES\nanon_mkdir_write_enable=YES\nanon_other_write_enable=YES\nanon_world_readable_only=NO\n", m.host(), port, dir, m.Dir)
	for _, line := range settings {
		config += line + "\n"
	}
	name := filepath.Join(dir, "vsftpd.conf")
	require.NoError(m.t, os.WriteFile(name, []byte(config), 0o644))
	m.serve(port, "/usr/sbin/vsftpd", name)
	return port
}

// proftpd hides uploads under .in.NAME. until they are complete, if its settings say so.
func proftpd(m *Mount, settings ...string) int {
	m.t.Helper()
	dir, port := scratch(m.t), freePort(m.t)
	config := fmt.Sprintf("ServerType standalone\nDefaultAddress %s\nSocketBindTight on\nPort %d\nUseIPv6 off\nUseReverseDNS off\n"+
		"WtmpLog off\nPidFile %s/pid\nScoreboardFile none\nSystemLog %s/log\nTransferLog none\nAuthPAM off\nDelayEngine off\n"+
		"User nobody\nGroup nogroup\n<Anonymous %s>\nUser nobody\nGroup nogroup\nUserAlias anonymous nobody\nRequireValidShell off\n"+
		"UseFtpUsers off\nAllowOverwrite on\nAllowStoreRestart on\n", m.host(), port, dir, dir, m.Dir)
	for _, line := range settings {
		config += line + "\n"
	}
	name := filepath.Join(dir, "proftpd.conf")
	require.NoError(m.t, os.WriteFile(name, []byte(config+"</Anonymous>\n"), 0o644))
	m.t.Cleanup(func() {
		if m.t.Failed() {
			log, _ := os.ReadFile(dir + "/log")
			m.t.Logf("proftpd's log:\n%s", log)
		}
	})
	m.serve(port, "proftpd", "--nodaemon", "--quiet", "--config", name)
	return port
}
