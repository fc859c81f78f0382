package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBuiltinRole(t *testing.T) {
	for program, want := range map[string]Role{
		"sftp-server": RoleServer, "sshd": RoleServer, "sshd-session": RoleServer, "scp": RoleServer, "rsync": RoleServer,
		"clamd": RoleObserver, "updatedb": RoleObserver, "updatedb.plocat": RoleObserver, "baloo_file": RoleObserver,
		"baloo_file_extr": RoleObserver, "tracker-miner-f": RoleObserver, "tracker-extract": RoleObserver, "tumblerd": RoleObserver,
		"ffmpegthumbnail": RoleObserver, "gnome-desktop-t": RoleObserver, "evince-thumbnai": RoleObserver, "totem-video-thu": RoleObserver,
		"totem-video-thumbnailer": RoleObserver, "thumbnail.so": RoleObserver,
		"smbd": RoleWorker, "cat": RoleWorker, "": RoleWorker, "sshd2": RoleWorker, "evince": RoleWorker, "tracker": RoleWorker,
		"gnome-desktop": RoleWorker, "SSHD": RoleWorker, "\xff": RoleWorker,
	} {
		assert.Equal(t, want, BuiltinRole(program), "%q", program)
	}
}
