package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// container is a command that starts another one as pid 1 of a pid namespace with a /proc of its own.
const container = `unshare --pid --fork --mount-proc `

// containers are ways to be in one.
var containers = map[string]string{
	"pid namespace":   container,
	"nested":          container + container,
	"another user":    container + `setpriv --reuid=65534 --regid=65534 --clear-groups `,
	"user namespace":  `setpriv --reuid=65534 --regid=65534 --clear-groups unshare --map-root-user --pid --fork --mount-proc `,
	"mount namespace": `unshare --mount `,
	"own session":     `setsid -w ` + container,
}

// TestI3_AWorkerInAContainerKeepsWhatItRead: its processes end as everywhere, and so do their claims.
func TestI3_AWorkerInAContainerKeepsWhatItRead(t *testing.T) {
	for name, in := range containers {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			m.Must(`umask 0; echo text > f`)
			marks := openScratch(t)
			p := m.Start(`%s`, in+`bash -c `+quote(fmt.Sprintf(`wc f > /dev/null; : > %s/read; read; v=$(cat f); rm f; echo $v`, marks)))
			m.untilMarked(marks, 1)
			require.Equal(t, "claimed", m.State("f"))
			m.requireHidden("f")
			p.Say()
			require.Equal(t, result{Out: "text\n"}, p.Wait())
			require.Empty(t, m.List("."))
		})
	}
}

// TestI4_AContainerThatIsKilledGivesBack: with pid 1 everything in it ends, and none of it is anybody's heir.
func TestI4_AContainerThatIsKilledGivesBack(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	marks := scratch(t)
	p := m.Start(`%s`, `unshare --pid --fork --mount-proc --kill-child bash -c `+quote(fmt.Sprintf(`(exec 3< f; : > %s/read; exec tail -f /dev/null) & exec 4> g; echo half >&4; : > %[1]s/wrote; wait`, marks))+` & echo $! > `+marks+`/pid; wait`)
	m.untilMarked(marks, 3)
	m.requireHidden("f", "g")
	pid, err := os.ReadFile(filepath.Join(marks, "pid"))
	require.NoError(t, err)
	m.Must(`kill -KILL %s`, pid)
	p.Wait()
	m.Until("it is back", func() bool { return m.Run(`cat f`).Out == "text\n" })
	m.Until("the other is quarantined", func() bool { return m.State("g") == "quarantined" })
	m.requireHidden("g")
	require.Equal(t, "1", m.attempts("f"))
}

// TestI1_AWriterInAContainerIsHiddenUntilItIsDone and its end counts.
func TestI1_AWriterInAContainerIsHiddenUntilItIsDone(t *testing.T) {
	for name, in := range containers {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			marks := openScratch(t)
			script := fmt.Sprintf(`(echo one; : > %s/half; read; echo two) > f; ls f; work() { echo x > $1.tmp; cat $1.tmp; mv $1.tmp $1; }; work g; exec 3> h; exit 3`, marks)
			p := m.Start(`%s`, in+`bash -c `+quote(script))
			m.untilMarked(marks, 1)
			m.requireHidden("f")
			p.Say()
			require.Equal(t, result{Out: "f\nx\n", Code: 3}, p.Wait())
			require.Equal(t, "f g", strings.Join(m.List("."), " "))
			require.Equal(t, "one\ntwo", m.Must(`cat f`))
			require.Equal(t, "quarantined", m.State("h"))
		})
	}
}

// open mounts so that every user may take part.
func open(t *testing.T, flags ...string) *Mount {
	t.Helper()
	m := mount(t, flags...)
	m.Must(`chmod 777 .`)
	return m
}

// openScratch is a scratch folder in which every user may leave marks.
func openScratch(t *testing.T) string {
	t.Helper()
	dir := scratch(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// mountUnseeing mounts with a daemon that sees none of its callers: it is in a pid namespace of its own.
func mountUnseeing(t *testing.T, flags ...string) *Mount {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: flags, under: []string{"unshare", "--pid", "--fork"}}
	m.start()
	t.Cleanup(m.end)
	m.Must(`chmod 777 .`)
	return m
}

// TestI3_WhoCanNotBeSeenClaimsWhileOpen: all of one user count as one; another user is a stranger.
func TestI3_WhoCanNotBeSeenClaimsWhileOpen(t *testing.T) {
	m := mountUnseeing(t)
	m.Must(`umask 0; echo text > f`)
	marks := openScratch(t)
	p := m.Start(`exec 3< f; : > %s/open; read; exec 3<&-; : > %[1]s/closed; read`, marks)
	m.untilMarked(marks, 1)
	require.Equal(t, "claimed", m.State("f"))
	require.Equal(t, "unseen", m.Holder("f"))
	require.Equal(t, "text", m.Must(`cat f`), "kin: the same user")
	require.NotZero(t, m.RunAs(nobody, `cat f`).Code)
	require.Empty(t, m.RunAs(nobody, `ls`).Out)
	p.Say()
	m.untilMarked(marks, 2)
	require.Equal(t, result{Out: "text\n"}, m.RunAs(nobody, `cat f`))

	p.Kill()
	m.Run(`exec 3< f; kill -KILL $$`)
	require.Equal(t, "0", m.attempts("f"), "nobody can say how it ended")
	require.Equal(t, 1, strings.Count(m.log.String(), "callers in a pid namespace that can't be seen from here"), "it is said once")
}

// TestI1_AWriterThatCanNotBeSeenPublishesAtItsLastClose, or by rename; what it leaves goes the way of what is abandoned.
func TestI1_AWriterThatCanNotBeSeenPublishesAtItsLastClose(t *testing.T) {
	m := mountUnseeing(t, "--abandoned-after", "1s")
	marks := openScratch(t)
	p := m.Start(`(echo one; : > %s/half; read; echo two) > f; echo x > g.tmp; cat g.tmp; mv g.tmp g; echo x > h.tmp`, marks)
	m.untilMarked(marks, 1)
	require.Empty(t, m.RunAs(nobody, `ls -A`).Out)
	p.Say()
	require.Equal(t, result{Out: "x\n"}, p.Wait())
	require.Equal(t, result{Out: "f\ng\n"}, m.RunAs(nobody, `ls`))
	m.Until("nobody comes back for it", func() bool { return m.State("h.tmp") == "quarantined" })
}

// TestANamedWorkerMustBeSeen, and is told so.
func TestANamedWorkerMustBeSeen(t *testing.T) {
	m := mountUnseeing(t)
	r := m.Run(`%s run --worker w -- true`, binary)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Out, "pid namespace")
}

// TestI3_ADaemonWithoutAProcOfItsOwnMistakesNobody: its pids are other processes' in the /proc that it has.
func TestI3_ADaemonWithoutAProcOfItsOwnMistakesNobody(t *testing.T) {
	m := mountUnseeing(t)
	m.Must(`echo text > f`)
	inside := fmt.Sprintf(`nsenter --target %d --pid `, m.pid())
	marks := scratch(t)
	p := m.Start(`%s bash -c 'exec 3< f; : > %s/open; read; exec 3<&-; : > %[2]s/closed; read'`, inside, marks)
	m.untilMarked(marks, 1)
	require.Equal(t, "unseen", m.Holder("f"))
	p.Say()
	m.untilMarked(marks, 2)
	require.Equal(t, "text", m.Must(`cat f`), "its claim was over with its descriptor")
	p.Say()
	p.Wait()
	require.Equal(t, "0", m.attempts("f"))
}

// inside runs a script as pid 1 of a pid namespace that also has the daemon: sessions and groups that began outside have
// the number 0 there. It mounts with flags, and what it leaves must be nothing.
func inside(t *testing.T, script string, flags ...string) string {
	t.Helper()
	t.Parallel()
	if *plain {
		flags = append(withoutRules(flags), "--rule", "**=plain")
	}
	backing, dir, tmp := scratch(t), scratch(t), scratch(t)
	text := fmt.Sprintf(`set -e; mount() { "$A" mount %s %s %s; }; mount; cd %[3]s; trap 'cd /; umount %[3]s' EXIT; stranger() { setsid -w "$@" 2> /dev/null; }; %s`,
		strings.Join(flags, " "), backing, dir, script)
	cmd := exec.Command("timeout", "-s", "KILL", "60", "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", text)
	cmd.Env = append(os.Environ(), "A="+binary, "T="+tmp, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	check, err := exec.Command(binary, "check", backing).CombinedOutput()
	require.NoError(t, err, "%s", check)
	return string(out)
}

// TestI3_InsideOneContainer: workers, writers, jobs, commands and restarts where sessions have no number.
func TestI3_InsideOneContainer(t *testing.T) {
	for name, c := range map[string]struct{ script, out string }{
		"a script": {`echo text > f; bash -c 'cat f; ! setsid -w cat f; ! setsid -w ls f; ls f; rm f' 2> /dev/null`, "text\nf\n"},
		"pid 1":    {`echo text > f; cat f; ! stranger cat f; v=$(cat f); ! stranger ls f; ls f; rm f; ls`, "text\nf\n"},
		"strangers of the same session": {
			`echo text > f; mkfifo $T/go; bash -c 'cat f > /dev/null; : > $T/read; read < $T/go; rm f' & until [ -e $T/read ]; do :; done
			! bash -c 'cat f' 2> /dev/null; ! sh -c 'rm f' 2> /dev/null; echo > $T/go; wait; ls`, ""},
		"a temp name": {`sh -c 'echo text > f.tmp'; stranger ls; ls; mv f.tmp f; stranger cat f`, "f.tmp\ntext\n"},
		"the publisher's rights": {
			`echo text > f; mkfifo $T/go; setsid bash -c 'exec 3< f; : > $T/read; read < $T/go' & until [ -e $T/read ]; do :; done
			stat -c %s f; chmod 600 f; ! stranger stat f; echo > $T/go; wait`, "5\n"},
		"a named worker": {`echo text > f; mkfifo $T/go; "$A" run --worker w -- bash -c 'setsid -w cat f; setsid -w ls f; : > $T/read; read < $T/go; setsid -w rm f' &
			until [ -e $T/read ]; do :; done; ! stranger rm f; echo > $T/go; wait; ls`, "text\nf\n"},
		"try": {`cd /; "$A" try -- sh -c 'echo text > a; cat a; rm a' | sed 's/+[^ ]*//'  | grep -c -e settled -e done`, "2\n"},
		"a restart": {
			`echo text > f; echo more > g; cat f; v=$(cat g); cd /; daemon=$(ps -C airlockfs -o pid=); kill -KILL $daemon; umount -l "$OLDPWD"; mount > /dev/null; cd "$OLDPWD"
			ls; ! stranger cat f; rm f g; ls`, "text\nf\ng\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.out, inside(t, c.script)) })
	}
}
