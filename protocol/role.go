package protocol

import "strings"

// Role says how the calls of a program are understood (section 6 of docs/protocol.md).
type Role uint8

const (
	RoleWorker     Role = iota // claims what it reads
	RoleJobControl             // started by hand at a terminal: a claim does not linger
	RoleServer                 // serves a remote user's session: its exit with an open file is a broken session
	RoleObserver               // looks only: never claims, counts or blocks
	RoleUnseen                 // a process in a pid namespace that the daemon can't see
)

var roleNames = [...]string{"worker", "under job control", "session server", "observer", "unseen"}

func (r Role) String() string { return nameOf(roleNames[:], uint8(r)) }

// taskNameSize is what the kernel keeps of a program's name (comm in proc_pid_comm(5)), in bytes.
const taskNameSize = 15

// taskName gives what the kernel keeps of name.
func taskName(name string) string { return name[:min(len(name), taskNameSize)] }

var servers = taskNames("sftp-server", "sshd", "sshd-session", "scp", "rsync")

// observers are indexers, virus scanners and the thumbnailers of file managers.
var observers = taskNames("clamd", "updatedb", "updatedb.mlocate", "updatedb.plocate", "baloo_file", "baloo_file_extractor",
	"tumblerd", "ffmpegthumbnailer", "gnome-desktop-thumbnailer", "gnome-thumbnail-font", "gdk-pixbuf-thumbnailer",
	"glycin-thumbnailer", "evince-thumbnailer", "papers-thumbnailer", "atril-thumbnailer", "xreader-thumbnailer",
	"totem-video-thumbnailer", "gsf-office-thumbnailer", "thumbnail.so")

func taskNames(programs ...string) map[string]bool {
	names := make(map[string]bool, len(programs))
	for _, p := range programs {
		names[taskName(p)] = true
	}
	return names
}

// BuiltinRole gives the role that a program has by its name alone: worker, session server or observer. A name that is
// longer than the kernel keeps counts as cut.
func BuiltinRole(program string) Role {
	name := taskName(program)
	switch {
	case servers[name]:
		return RoleServer
	case observers[name] || strings.HasPrefix(name, "tracker-"):
		return RoleObserver
	}
	return RoleWorker
}
