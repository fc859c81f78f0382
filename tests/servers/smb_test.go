package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// library is what a client in Python begins with. Samba's own library knows no port but 445, so all are in a network of
// their own; it can set a length in SMB1 only. see() is what a stranger finds in the folder.
const library = `
import os, subprocess, sys
from samba import NTSTATUSError
from samba.credentials import Credentials
from samba.samba3 import libsmb_samba_internal as libsmb, param
config, host, folder = sys.argv[1:]
lp = param.get_context(); lp.load(config)
READ, WRITE, DELETE, SHARED = 0x120089, 0x120116, 0x10000, 7
OPEN, OVERWRITE, BATCH_OPLOCK = 1, 5, 6

def connect(smb1=False):
    creds = Credentials(); creds.set_anonymous()
    return libsmb.Conn(host, "in", lp, creds, force_smb1=smb1)

def start(client, name, oplock=0):
    return client.create(name, CreateFlags=oplock, DesiredAccess=READ | WRITE, ShareAccess=SHARED, CreateDisposition=OVERWRITE)

def take(client, name, access=READ):
    return client.create(name, CreateFlags=BATCH_OPLOCK, DesiredAccess=access, ShareAccess=SHARED, CreateDisposition=OPEN)

def see():
    return subprocess.check_output(["ls", "-A", folder], start_new_session=True, text=True).split()

def expect(found, wanted):
    assert found == wanted, (found, wanted)

def refused(call, *args):
    try:
        call(*args)
    except NTSTATUSError as e:
        print("refused", e.args[1], flush=True)
    else:
        raise AssertionError("not refused")
`

// speaks starts an smbd and a client in Python, whose statements may use what library has.
func speaks(t *testing.T, statements string) (*Mount, *Process) {
	t.Helper()
	m := mount(t)
	m.net = network(t)
	s := shares(m)
	script := filepath.Join(scratch(t), "client.py")
	require.NoError(t, os.WriteFile(script, []byte(library+statements), 0o644))
	return m, m.start("/usr/bin/python3", script, s.config, m.host(), m.Dir+"/in")
}

// well waits for a client's good end.
func (p *Process) well() {
	p.t.Helper()
	require.Zero(p.t, p.Wait(), p.Output())
}

// Windows' own copy sets the length before it writes.
func TestI2_SMBAnnouncedLengthIsNotReached(t *testing.T) {
	m, _ := speaks(t, `
c = connect(smb1=True)
f = c.create("f", DesiredAccess=0x3, CreateDisposition=OVERWRITE)
c.truncate(f, 200000); c.write(f, b"x" * 100000, 0)
os.kill(os.getpid(), 9)
`)
	i := m.Until("in/f", "quarantined")
	require.Contains(t, i.Reason, "200,000 bytes were announced, 100,000 were written")
	m.Invisible("in/f")
	require.Zero(t, m.warnings())
}

func TestI1_SMBAnnouncedLengthIsReached(t *testing.T) {
	m, c := speaks(t, `
c = connect(smb1=True)
f = c.create("f", DesiredAccess=0x3, CreateDisposition=OVERWRITE)
c.truncate(f, 200000); c.write(f, b"x" * 100000, 0); expect(see(), [])
c.write(f, b"x" * 100000, 100000); expect(see(), [])
c.close(f); expect(see(), ["f"])
`)
	c.well()
	require.Zero(t, m.warnings())
	require.Equal(t, "200000", m.Must("cat in/f | wc -c"))
}

// What is renamed while it is open appears under its new name when it is closed.
func TestI1_SMBRenameWhileOpen(t *testing.T) {
	m, c := speaks(t, `
c = connect()
f = start(c, "f.part"); c.write(f, b"x" * 1000, 0)
c.rename("f.part", "f"); expect(see(), [])
c.write(f, b"x" * 1000, 1000); expect(see(), [])
c.close(f); expect(see(), ["f"])
`)
	c.well()
	require.Equal(t, "2000", m.Must("cat in/f | wc -c"))
}

// What one client has open, with an oplock or a lease, another neither opens, renames nor deletes. Deleting it on its
// close settles it.
func TestI3_SMBClientsDoNotShareAClaim(t *testing.T) {
	m, c := speaks(t, `
c, d = connect(), connect()
f = start(c, "f", BATCH_OPLOCK); c.write(f, b"x", 0)
refused(start, d, "f"); refused(take, d, "f")
c.close(f); expect(see(), ["f"])
f = take(c, "f", READ | DELETE); expect(see(), [])
refused(take, d, "f"); refused(d.rename, "f", "g"); refused(d.unlink, "f")
c.delete_on_close(f, True)
c.close(f); expect(see(), []); refused(take, d, "f")
`)
	c.well()
	require.Equal(t, 6, strings.Count(c.Output(), "refused"), c.Output())
	require.Equal(t, 1, strings.Count(m.daemon.Output(), "msg=settled path=in/f"))
}

// smbclient's tar reads what is there, which claims it for the session, and writes each file whole.
func TestSMBTar(t *testing.T) {
	m := mount(t)
	s := shares(m)
	archive := filepath.Join(scratch(t), "tar")
	m.Must("mkdir -m 777 in/t && echo one > in/t/1 && echo two > in/t/2 && chmod 666 in/t/*")
	s.smbclient(s.port, "tar c "+archive+" t").well()
	m.Until("in/t/1", "")
	require.Equal(t, "one\ntwo", m.Must("cat in/t/1 in/t/2 && rm in/t/1 in/t/2"))
	s.smbclient(s.port, "tar x "+archive).well()
	m.HandedOver("in/t/1", "- <<<one")
	m.HandedOver("in/t/2", "- <<<two")
}

// What desktops leave in every folder they show is nobody else's business with --ignore-litter, and is in nobody's way.
func TestSMBLitterIsIgnored(t *testing.T) {
	m := mount(t, "--ignore-litter")
	s := shares(m)
	m.Must("mkdir -m 777 in/t")
	source := m.source(small)
	s.smbclient(s.port, "cd t", "put "+source+" ._f", "put "+source+" .DS_Store", "put "+source+" f").well()
	require.Equal(t, "f", m.Must("ls -A in/t"))
	m.Must("rm in/t/f && rmdir in/t")
}
