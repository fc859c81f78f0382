package servers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// warning is what the mount says of a server that closes half a file as it closes a whole one.
const warning = "half a file would look whole"

// warnings are how often it was said: in the log, and as an event, which is the same number.
func (m *Mount) warnings() int {
	m.t.Helper()
	n := strings.Count(m.Must("cat .airlockfs/events"), warning)
	until(m.t, "it is in the log too", func() bool { return strings.Count(m.daemon.Output(), warning) == n })
	return n
}

// asServer makes dd(1) a server by its name. It opens, writes and closes a file as those servers do.
func (m *Mount) asServer(name string) string {
	m.t.Helper()
	program := scratch(m.t) + "/" + name
	m.Must("cp /bin/dd " + program)
	return program + " status=none if=/dev/zero bs=1000 count=2 of="
}

// What is complete on a server's word alone is said once for each such server, whatever it serves.
func TestWarningIsSaidOncePerServer(t *testing.T) {
	m := mount(t)
	smbd, proftpd := m.asServer("smbd"), m.asServer("proftpd")
	m.Must(m.asServer("sftp-server") + "in/0 && cp /bin/true in/1 && " + m.asServer("smbd") + "in/2.part && " + m.asServer("smbd") + "in/3 count=0")
	require.Zero(t, m.warnings(), "of a session server, of a worker, of a temp name, of nothing")
	m.Must(smbd + "in/a")
	require.Equal(t, 1, m.warnings())
	require.Regexp(t, `smbd closes a file the same way whether .* no length was announced for in/a: .*see docs/servers\.md`, m.daemon.Output())
	m.Must(smbd + "in/b && " + m.asServer("smbd") + "in/c")
	require.Equal(t, 1, m.warnings())
	m.Must(proftpd + "in/d")
	require.Equal(t, 2, m.warnings())
}

// Who renames what is complete, or announces its length, needs no warning.
func TestWarningIsNotSaidWhereTheSenderTells(t *testing.T) {
	m := mount(t, "--rule", "renamed/**=queue,publish=rename")
	smbd := m.asServer("smbd")
	m.Must("mkdir renamed && " + smbd + "renamed/a && mv renamed/a renamed/b")
	require.Zero(t, m.warnings(), "publish=rename")
	m.Must(smbd + "in/a.part && mv in/a.part in/a")
	require.Zero(t, m.warnings(), "a temp name")
	m.Must(smbd + "in/b seek=1") // which sets the length first, to the offset
	require.Zero(t, m.warnings(), "an announced length")
	require.Equal(t, "a\nb", m.Must("ls in"))
	require.Equal(t, "b", m.Must("ls renamed"))
	m.Must(smbd + "in/c")
	require.Equal(t, 1, m.warnings())
}
