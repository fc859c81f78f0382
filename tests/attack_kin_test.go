package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// suid is a set-user-id program of root's that everybody may run, such as sudo(8) is: it runs its arguments as root.
func suid(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "airlockfs-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "setpriv")
	out, err := exec.Command("cp", program(t, "setpriv"), path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, unix.Chmod(path, 0o4755))
	return path + " --reuid 0 --regid 0 --clear-groups --"
}

// A program that bob runs as root reads root's item. His shell, which started it, must not inherit the claim: he may not
// settle the item himself, and would hide it from everybody.
func TestAttack_InheritingAClaimOfRoots(t *testing.T) {
	m := mount(t)
	m.Must(folders + `; echo secret > adm/item; chmod 600 adm/item`)
	marks := scratch(t)
	m.Must(`chmod 777 %s`, marks)
	p := m.StartAs(bob, `%s cat adm/item > /dev/null; : > %s/read; cat adm/item; read`, suid(t), marks)
	m.untilMarked(marks, 1)
	require.Equal(t, "secret", m.Must(`cat adm/item`))
	require.NotContains(t, p.Kill().Out, "secret")
}

// A worker's name counts for the user who registered it, and not for what his processes become.
func TestAttack_ForeignWorkerNames(t *testing.T) {
	m := mount(t)
	m.Must(folders + `; echo secret > in/item`)
	marks := scratch(t)
	m.Must(`chmod 777 %s`, marks)
	a := m.StartAs(alice, `exec %s run --worker w -- bash -c 'exec 3<in/item; : > %s/claimed; read; rm in/item'`, binary, marks)
	m.untilMarked(marks, 1)
	root := m.Start(`exec %s run --worker w -- bash -c 'echo rooted > adm/f.tmp; : > %s/written; read'`, binary, marks)
	m.untilMarked(marks, 2)
	r := m.RunAs(bob, `%[1]s run --worker w -- bash -c 'cat in/item; rm in/item; cat adm/f.tmp; : > in/mine; %[2]s cat adm/f.tmp'
		%[1]s run --worker w -- %[2]s cat adm/f.tmp in/item; echo '{"do":"join","worker":"w"}' 1<> .airlockfs/command; cat in/item`, binary, suid(t))
	require.NotContains(t, r.Out, "secret")
	require.NotContains(t, r.Out, "rooted")
	require.Equal(t, "claimed", m.State("in/item"))
	a.Say()
	require.Zero(t, a.Wait().Code)
	root.Kill()
}

// Descriptors that alice's processes have open, through /proc.
func TestAttack_OtherUsersDescriptors(t *testing.T) {
	m := mount(t)
	a := m.hide()
	r := m.RunAs(bob, `cat /proc/%[1]d/fd/*; cat < /proc/%[1]d/fd/5; ls -l /proc/%[1]d/fd`, a.PID())
	require.NotContains(t, r.Out, "secret")
	require.NotContains(t, r.Out, "half")
	for _, script := range []string{`cat /proc/%d/fd/5`, `cat < /proc/%d/fd/6`, `exec 3>>/proc/%d/fd/5; echo forged >&3`} {
		r := m.RunAs(alice, script, a.PID())
		require.NotContains(t, r.Out, "secret", "nor is another session of her own kin")
		require.NotZero(t, r.Code, script)
	}
	a.Say()
	m.Until("it is delivered", func() bool { return m.Run(`test -e in/half`).Code == 0 })
	require.Equal(t, "secret", m.Must(`cat in/half`))
}
