package tests

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// alice and bob are two users without rights, and without anything in common.
const alice, bob = 65533, 65534

// defaultACL is what `setfacl -d -m u::rwx,u:65533:rwx,g::rx,m::rwx,o::-` stores: acl(5) in the kernel's format.
var defaultACL = "\x02\x00\x00\x00" +
	"\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\xfd\xff\x00\x00" + "\x04\x00\x05\x00\xff\xff\xff\xff" +
	"\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"

// makings make things in a folder in all the ways that leave rights to the kernel.
const makings = `
	set -e; umask %s
	echo x > file; echo x > f.tmp; mv f.tmp renamed; : > empty; cp file copy; cp -p file kept; install -m 2750 file installed
	mkdir folder; mkdir -m 1777 shared; ln -s file link; mkfifo fifo; echo x > one; ln one two; touch touched; echo y >> file
	mkdir out; tar cf - -C /etc passwd | tar xf - -C out
	chmod g+w copy; chmod 4755 kept; truncate -s 3 empty; echo new > renamed; sed -i s/x/y/ copy`

// rights lists what is in a folder, with owner, group, rights and ACL.
func rights(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || strings.Contains(path, ".airlockfs") {
			return err
		}
		var st unix.Stat_t
		if err = unix.Lstat(path, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(strings.Join([]string{rel, octal(st.Mode), "owner", decimal(st.Uid), decimal(st.Gid), acl(path), "\n"}, " "))
		return nil
	})
	require.NoError(t, err)
	return b.String()
}

func octal(mode uint32) string { return "mode " + strconv.FormatUint(uint64(mode), 8) }
func decimal(n uint32) string  { return strconv.FormatUint(uint64(n), 10) }

// acl is the access ACL of a file, if it has one.
func acl(path string) string {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", buf)
	if err != nil {
		return ""
	}
	return "acl " + hex.EncodeToString(buf[:n])
}

func TestI8_RightsAreThoseOfANativeFolder(t *testing.T) {
	prepare := map[string]func(dir string) error{
		"plain":  func(dir string) error { return os.Chmod(dir, 0o777) },
		"setgid": func(dir string) error { return firstError(os.Chown(dir, -1, 4242), unix.Chmod(dir, 0o2777)) },
		"sticky": func(dir string) error { return unix.Chmod(dir, 0o1777) },
		"acl": func(dir string) error {
			return firstError(os.Chmod(dir, 0o777), unix.Setxattr(dir, "system.posix_acl_default", []byte(defaultACL), 0))
		},
	}
	for what, setUp := range prepare {
		for _, umask := range []string{"027", "0"} {
			t.Run(what+" umask "+umask, func(t *testing.T) {
				m := mount(t)
				native, through := filepath.Join(scratch(t), "d"), m.Below("d")
				for _, dir := range []string{native, through} {
					require.NoError(t, os.Mkdir(dir, 0o755))
					require.NoError(t, setUp(dir))
				}
				for _, uid := range []uint32{0, alice} {
					sub := "by" + decimal(uid)
					script := "mkdir " + sub + "; cd " + sub + makings
					r := m.RunAs(uid, "cd d; "+script, umask)
					require.Zero(t, r.Code, r.Out)
					r = m.RunAs(uid, "cd "+quote(native)+"; "+script, umask)
					require.Zero(t, r.Code, r.Out)
				}
				m.Must("ls -R d") // what a script had claimed is back for who looks here, and then in the backing, too
				require.Equal(t, rights(t, native), rights(t, through))
			})
		}
	}
}

// forBothFolders runs a test in a folder where everybody may do everything, and in one like /tmp.
func forBothFolders(t *testing.T, test func(t *testing.T, m *Mount)) {
	eachIn(t, 0o777, test)
	eachIn(t, 0o1777, test)
}

func eachIn(t *testing.T, mode uint32, test func(t *testing.T, m *Mount)) {
	t.Run(strconv.FormatUint(uint64(mode), 8), func(t *testing.T) {
		m := mount(t)
		require.NoError(t, unix.Chmod(m.Backing, mode))
		test(t, m)
	})
}

func TestI1_UsersSeeNothingHiddenOfEachOther(t *testing.T) {
	forBothFolders(t, func(t *testing.T, m *Mount) {
		a := m.StartAs(alice, `exec 3>half; echo secret >&3; echo secret > closed.tmp; exec 4>open.tmp; echo secret >&4; read
			exec 3>&-; read`)
		m.Until("alice has three hidden files", func() bool {
			return m.State("half") == "staged" && m.State("open.tmp") == "staged" && m.State("closed.tmp") == "staged"
		})
		look := `ls -A; cat half closed.tmp open.tmp; stat half closed.tmp open.tmp; mv closed.tmp mine; rm -f half; ln half mine
			cat .airlockfs/status .airlockfs/locks .airlockfs/events; cat /proc/%d/fd/3 /proc/%d/fd/4; ls -la .airlockfs; ls -R "%s/.airlockfs"
			find . -type f; getfattr -d -m - . 2>/dev/null; true`
		r := m.RunAs(bob, look, a.PID(), a.PID(), m.Backing)
		require.NotContains(t, r.Out, "secret")
		status := m.RunAs(bob, `ls -A; cat .airlockfs/status .airlockfs/locks .airlockfs/events`)
		require.Zero(t, status.Code, status.Out)
		require.NotContains(t, status.Out, "half")
		require.NotContains(t, status.Out, ".tmp")
		require.NotContains(t, status.Out, decimal(uint32(a.PID())))
		own := m.RunAs(alice, `cat .airlockfs/status`)
		require.Contains(t, own.Out, "closed.tmp")
		require.Contains(t, own.Out, "half")
		a.Say()
		m.Until("half is public", func() bool { return m.State("half") == "" })
		require.Equal(t, "secret\n", m.RunAs(bob, "cat half").Out)
	})
}

// In a folder where bob could remove the file he is a worker like any other. (Where he could not, he only looks: see
// observers_test.go.)
func TestI1_ClaimsOfOthersAreHidden(t *testing.T) {
	eachIn(t, 0o777, func(t *testing.T, m *Mount) {
		require.Zero(t, m.RunAs(alice, "echo bytes > item").Code)
		a := m.StartAs(alice, "exec 3<item; read; cat <&3")
		m.Until("alice has claimed it", func() bool { return m.State("item") == "claimed" })
		r := m.RunAs(bob, `ls -A; cat item; cat /proc/%d/fd/3; cat .airlockfs/status; rm -f item; mv item x; echo end`, a.PID())
		require.NotContains(t, r.Out, "bytes")
		require.NotContains(t, r.Out, `"item"`)
		require.Equal(t, "claimed", m.State("item"))
		a.Say()
		require.Contains(t, a.Wait().Out, "bytes")
	})
}

func TestI1_TempNamesOfOthersAreFree(t *testing.T) {
	forBothFolders(t, func(t *testing.T, m *Mount) {
		a := m.StartAs(alice, "echo alice > f.tmp; read; mv f.tmp a; read")
		m.Until("alice has a temp file", func() bool { return m.State("f.tmp") == "staged" })
		r := m.RunAs(bob, "set -o noclobber; echo bob > f.tmp && mv f.tmp b && cat b")
		require.Equal(t, result{Out: "bob\n"}, r)
		a.Say()
		m.Until("alice has delivered", func() bool { return m.State("f.tmp") == "" })
		require.Equal(t, "alice", m.Must("cat a"))
	})
}

func TestI1_ParkedFilesAreTheirUsersOnly(t *testing.T) {
	forBothFolders(t, func(t *testing.T, m *Mount) {
		require.Zero(t, m.RunAs(alice, "echo alice > f.tmp").Code)
		require.Equal(t, "parked", m.State("f.tmp"))
		require.NotZero(t, m.RunAs(bob, "mv f.tmp stolen").Code)
		require.NotContains(t, m.RunAs(bob, "cat f.tmp; ls -A; cat >> f.tmp < /dev/null; cat f.tmp").Out, "alice")
		require.Zero(t, m.RunAs(alice, "mv f.tmp a").Code)
		require.Equal(t, "alice", m.Must("cat a"))
	})
}

// Who may not remove a name may read it, but claims nothing: else anybody could hide what he can't have.
func TestI3_WhoMayNotSettleOnlyReads(t *testing.T) {
	m := mount(t)
	require.NoError(t, unix.Chmod(m.Backing, 0o1777))
	require.Zero(t, m.RunAs(alice, "echo bytes > item; mkdir closed; echo bytes > closed/item").Code)
	b := m.StartAs(bob, "exec 3<item 4<closed/item; read; cat <&3; cat <&4; rm item; rm closed/item; read")
	b.Say()
	m.Until("bob has tried", func() bool { return strings.Contains(m.RunAs(0, "ls").Out, "closed") })
	require.Equal(t, []string{"closed", "item"}, m.List("."))
	require.Empty(t, m.Status())
	b.Say()
	r := b.Wait()
	require.Equal(t, 2, strings.Count(r.Out, "bytes"), r.Out)
	r = m.RunAs(alice, "cat item closed/item; setsid -w ls; setsid -w ls closed; rm item closed/item")
	require.Equal(t, result{Out: "bytes\nbytes\nclosed\n"}, r, "who may settle claims")
}

func TestI8_ModesAreEnforced(t *testing.T) {
	m := mount(t)
	require.NoError(t, unix.Chmod(m.Backing, 0o1777))
	require.Zero(t, m.RunAs(alice, "umask 077; echo private > p; mkdir locked; echo x > locked/f").Code)
	r := m.RunAs(bob, "cat p; echo x > p; echo x >> p; truncate -s 0 p; chmod 777 p; rm -f p; mv p q; ls locked; cat locked/f; touch locked/g")
	require.NotZero(t, r.Code)
	require.NotContains(t, r.Out, "private")
	require.Equal(t, 10, strings.Count(r.Out, "Permission denied")+strings.Count(r.Out, "Operation not permitted"), r.Out)
	require.Equal(t, "private\n", m.RunAs(alice, "cat p").Out)
	require.Empty(t, m.Status(), "refused calls change nothing")
}

func TestI8_DaemonsFolderIsClosedToUsers(t *testing.T) {
	m := mount(t)
	require.NoError(t, unix.Chmod(m.Backing, 0o777))
	st, err := os.Stat(m.Below(".airlockfs"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	cmd := exec.Command("ls", m.Below(".airlockfs"))
	require.NoError(t, cmd.Run(), "root looks")
	r := m.RunAs(alice, "ls %s/.airlockfs; cat %s/.airlockfs/format", quote(m.Backing), quote(m.Backing))
	require.NotZero(t, r.Code)
	require.Contains(t, r.Out, "Permission denied")
}
