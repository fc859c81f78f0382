package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Attacks by bob, who has no rights, on a mount of root's. docs/security.md lists them all.

// folders makes the folders most attacks need: open to all, like /tmp, and root's own, in one that is open to all.
const folders = `chmod 777 .; mkdir -m 777 in; mkdir -m 1777 sticky; mkdir -m 755 adm`

// rewrites are the ways to a new version of f.
var rewrites = map[string]string{
	"append": "echo y >> f", "truncate": "echo z > f", "truncate(2)": "truncate -s 1 f", "in place": "echo q 1<> f",
}

// The group bits of a file with an ACL are its mask. Without the ACL they are rights of the owning group.
func TestAttack_ANewVersionKeepsTheACL(t *testing.T) {
	for name, rewrite := range rewrites {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			const prepare = `cd "%s"; setfacl -d -m u:65533:rwx,m::rwx .; echo x > f; setfacl -b f; chmod 640 f
				setfacl -m u:65533:rw,g::- f; setfattr -n user.color -v red f; setfattr -n trusted.t -v 1 f; echo plain > g`
			const after = `cd "%s"; setsid -w bash -c '%s'; getfacl -c f; stat -c %%a:%%U f; getfattr -d -m 'user|trusted' f`
			native := scratch(t)
			m.Must(prepare, native)
			m.Must(prepare, m.Dir)
			require.Equal(t, m.Must(after, native, rewrite), m.Must(after, m.Dir, rewrite))
		})
	}
}

// privileges are the ways to change a file that take its set-user-id and set-group-id bits and its capabilities away.
var privileges = map[string]string{
	"write": "echo >> f", "overwrite": "dd if=/dev/zero of=f conv=notrunc bs=1 count=1", "truncate": "echo > f", "truncate(2)": "truncate -s 1 f",
	"fallocate": "fallocate -l 10 f", "chgrp": "chgrp 65534 f", "touch": "touch f", "setfattr": "setfattr -n user.x -v 1 f",
}

func TestAttack_WritingToAPrivilegedProgram(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain")
	m.Must(folders + `; mkdir -m 777 plain`)
	native := scratch(t)
	require.NoError(t, os.Chmod(native, 0o777))
	for name, change := range privileges {
		left := map[string]string{}
		for _, dir := range []string{native, m.Path("plain"), m.Path("in")} {
			m.Must(`cd %s; rm -f f; echo 12345678 > f; chown 65534:0 f; setcap cap_net_raw+ep f; chmod 6777 f`, dir)
			r := m.RunAs(bob, "cd %s; %s", dir, change)
			require.Zero(t, r.Code, r.Out)
			left[dir] = m.Must("cd %s; stat -c %%a f; getcap f", dir)
		}
		require.Equal(t, left[native], left[m.Path("plain")], "%s, in place", name)
		require.Equal(t, left[native], left[m.Path("in")], "%s, a new version", name)
	}
}

// Between bob's look-up, which finds nothing, and his open(O_CREAT) alice's file appears, which he may not read: the kernel
// has not asked whether he may.
func TestAttack_OpenCreatesWhatHasJustAppeared(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	thief := m.StartAs(bob, pythonProgram(`
		while True:
			try:
				f = os.open("sticky/x", os.O_RDWR | os.O_CREAT, 0o600)
				print(os.read(f, 99), flush=True)
				os.close(f)
				os.unlink("sticky/x")
			except OSError as e:
				if e.errno not in (errno.EACCES, errno.EBUSY): print(e, flush=True)`))
	r := m.RunAs(alice, pythonProgram(`
		os.umask(0o077)
		for _ in range(2000):
			try:
				f = os.open("sticky/x", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
				os.write(f, b"secret")
				os.close(f)
				os.unlink("sticky/x")
			except OSError: pass`))
	require.Zero(t, r.Code, r.Out)
	require.NotContains(t, thief.Kill().Out, "secret")
}

// Likewise bob's rename over a name that was free when he looked, in a folder where he must not replace alice's files.
func TestAttack_RenameReplacesWhatHasJustAppeared(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	vandal := m.StartAs(bob, pythonProgram(`
		while True:
			open("sticky/b.tmp", "w").close()
			while True:
				try:
					os.rename("sticky/b.tmp", "sticky/x")
					os.unlink("sticky/x")
					break
				except OSError as e:
					if e.errno == errno.ENOENT: break`))
	r := m.RunAs(alice, pythonProgram(`
		for _ in range(1500):
			try:
				f = os.open("sticky/x", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
			except OSError: continue
			os.write(f, b"alice")
			os.close(f)
			assert os.stat("sticky/x").st_uid == os.getuid()
			os.unlink("sticky/x")`))
	vandal.Kill()
	require.Zero(t, r.Code, r.Out)
}

// pythonProgram is the shell command that runs a program, written with the indentation of its place here.
func pythonProgram(program string) string {
	lines := strings.Split(strings.TrimPrefix(program, "\n"), "\n")
	margin := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], "\t"))]
	for n := range lines {
		lines[n] = strings.TrimPrefix(lines[n], margin)
	}
	return "exec python3 -c " + quote("import errno, fcntl, os, sys, time\n"+strings.Join(lines, "\n"))
}

func TestAttack_MakingDevices(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	r := m.RunAs(bob, `for what in "c 1 3" "b 7 0"; do mknod in/dev $what; echo $?; done; mkfifo in/fifo`)
	require.Equal(t, 2, strings.Count(r.Out, "Operation not permitted"), r.Out)
	m.Must(`mknod adm/null c 1 3`)
	require.Contains(t, m.Run(`cat adm/null`).Out, "Permission denied", "the mount is nodev")
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(filepath.Dir(m.Path("in")), &fs))
	require.NotZero(t, fs.Flags&unix.ST_NOSUID)
	require.NotZero(t, fs.Flags&unix.ST_NODEV)
}

func TestAttack_StickyFolder(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	r := m.RunAs(alice, `cd sticky; echo a > item; mkfifo fifo; mkdir dir; ln -s item link; echo unfinished > f.tmp`)
	require.Zero(t, r.Code, r.Out)
	before := m.Must(`ls -lA sticky`)
	for _, attack := range []string{`rm -f item`, `mv item mine`, `echo mine > b; mv b item`, `ln item other`, `echo x >> item`,
		`truncate -s 0 item`, `chmod 777 item`, `chown 65534 item`, `touch -d @0 item`, `setfattr -n user.x -v 1 item`,
		`setfacl -m u:65534:rw item`, `rm -f fifo`, `mv fifo x`, `mv -T link fifo`, `rmdir dir`, `mv dir d`, `rm link`, `mv f.tmp f`} {
		r := m.RunAs(bob, "cd sticky; %s", attack)
		require.NotZero(t, r.Code, attack)
		m.Must(`rm -f sticky/b`)
		require.Equal(t, before, m.Must(`ls -lA sticky`), attack)
	}
}
