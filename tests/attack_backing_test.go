package tests

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Attacks by bob in a backing that everybody may write to, past the mount.

// bob can't write to the daemon's folder, but he can put another one in its place.
func TestAttack_ControlFolderIsSwapped(t *testing.T) {
	m := mount(t)
	require.NoError(t, os.Chmod(m.Backing, 0o777))
	m.Must(`mkdir -m 777 in`)
	r := m.RunAs(bob, `cd %s && mv .airlockfs true && mkdir -p .airlockfs && cd .airlockfs && mkdir -m 777 format staging parked abandoned held claimed quarantine replaced folders`, m.Backing)
	require.Zero(t, r.Code, r.Out)
	r = m.RunAs(alice, `umask 077; echo item > in/item; echo secret > in/f.tmp; exec 3< in/item 4> in/half; echo x >&4; kill -9 $$`)
	require.Equal(t, 137, r.Code)
	require.Empty(t, m.RunAs(bob, `cd %s/.airlockfs; find . -type f; find . -mindepth 2`, m.Backing).Out)
	require.Contains(t, m.RunAs(alice, `%s status .`, binary).Out, "quarantined")
	require.Equal(t, "item\n", m.RunAs(alice, `cat in/item`).Out)
	require.NoError(t, os.RemoveAll(m.Below(".airlockfs")))
	require.NoError(t, os.Rename(m.Below("true"), m.Below(".airlockfs")))
}

// A folder of that name is the daemon's at the root only.
func TestAttack_ControlFolderBelow(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	r := m.RunAs(bob, `mkdir -p in/.airlockfs/quarantine in/.airlockfs/claimed; echo x > in/.airlockfs/format; cat in/.airlockfs/format; ls -A in
		mkdir .airlockfs; echo x > .airlockfs/status; echo x > .airlockfs/new; mv in/.airlockfs/format .airlockfs/; rm .airlockfs/status
		ln in/.airlockfs/format .airlockfs/f; mv .airlockfs in/stolen; rmdir .airlockfs; chmod 777 .airlockfs; mv -T in .airlockfs`)
	require.True(t, strings.HasPrefix(r.Out, "x\n.airlockfs\n"), r.Out)
	require.Equal(t, 10, strings.Count(r.Out, "\n")-2, r.Out)
	require.Zero(t, m.RunAs(alice, `echo x > in/f; cat in/f; ls .airlockfs; cat .airlockfs/status`).Code)
}

// What bob puts in the place of a file: the daemon opens no FIFO and no device, and follows no link.
func TestAttack_FilesAreSwappedForOtherThings(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	secret := scratch(t) + "/secret"
	require.NoError(t, os.WriteFile(secret, []byte("classified\n"), 0o600))
	swaps := []string{`mkfifo f`, `ln -s %s f`, `mkdir f`, `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("f")'`}
	for _, where := range []string{m.Below("in"), m.Path("in")} {
		for _, swap := range swaps {
			r := m.RunAs(alice, `umask 0; echo x > in/f; stat in/f; setsid -w ls in`)
			require.Zero(t, r.Code, r.Out)
			r = m.RunAs(bob, "cd %s; rm -f f; "+strings.ReplaceAll(swap, "%s", secret), where)
			require.Zero(t, r.Code, r.Out)
			r = m.RunAs(alice, `ls -l in; timeout 5 dd if=in/f iflag=nonblock 2>&1; timeout 5 dd of=in/f oflag=nonblock,append conv=notrunc < /dev/null; truncate -s 0 in/f
				setfattr -n user.x -v 1 in/f; mv in/f in/g; rm -rf in/g in/f; %s status .`, binary)
			require.NotContains(t, r.Out, "classified")
			m.Must(`rm -rf in/f in/g`)
		}
	}
	require.Empty(t, m.openFiles())
	var st unix.Stat_t
	require.NoError(t, unix.Stat(secret, &st))
	require.EqualValues(t, []any{11, 0, 0o600}, []any{int(st.Size), int(st.Uid), int(st.Mode & 0o7777)})
}

// Notes of the daemon's, forged on a file that is delivered with its attributes.
func TestAttack_ForgedNotes(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	forged := scratch(t)
	m.Must(`chmod 777 %s`, forged)
	const note = `{"attempts":99,"ghost":true,"home":"0/adm","class":"lock","closed":true,"taint":"killed"}`
	r := m.RunAs(bob, `cd %[1]s; for f in cp tar mv rsync; do echo bytes > $f; setfattr -n user.airlockfs.note -v '%[2]s' -n user.mine -v 1 $f; done
		cp -a cp $M/in/; tar --xattrs --xattrs-include='*' -cf - tar | tar --xattrs --xattrs-include='*' -xf - -C $M/in; mv mv $M/in/; rsync -X rsync $M/in/
		cd $M/in; echo own > own; setfattr -n user.airlockfs.note -v '%[2]s' own; setfattr -n user.airlockfs.state -v public own; setfattr -x user.airlockfs.state own
		setfattr -n trusted.airlockfs.note -v x own`, forged, note)
	require.NotContains(t, m.RunAs(0, `getfattr -d -m - in/*`).Out, "99")
	for _, f := range []string{"cp", "tar", "mv", "rsync"} {
		require.Equal(t, "0 queue bytes", m.Must(`x=$(getfattr --only-values -n user.airlockfs.attempts in/%[1]s); y=$(getfattr --only-values -n user.airlockfs.class in/%[1]s); echo $x $y $(cat in/%[1]s)`, f), r.Out)
	}
	require.Equal(t, []string{"cp", "mv", "own", "rsync", "tar"}, m.List("in"))
}
