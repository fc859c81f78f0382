package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What alice has hidden: an item she claimed where bob could have, and one where he could not; a file half written, a
// closed temp file; an item of hers in quarantine.
const hiding = `cd %s; exec 3<in/item 4<sticky/item 5>in/half 6>in/open.tmp 7>in/deep/quiet; echo secret >&5; echo secret >&6; echo secret > in/shut.tmp
	(echo secret; kill -9 $BASHPID) > in/broken; : > %s/hidden; read`

// hide has alice hide it, and returns her process.
func (m *Mount) hide() *Process {
	m.t.Helper()
	m.Must(folders)
	r := m.RunAs(alice, `umask 022; mkdir -m 777 in/deep; echo public > in/item; echo public > sticky/item`)
	require.Zero(m.t, r.Code, r.Out)
	marks := scratch(m.t)
	m.Must(`chmod 777 %s`, marks)
	a := m.StartAs(alice, hiding, m.Dir, marks)
	m.untilMarked(marks, 1)
	return a
}

// Every way that tells something: the calls, their errors, attributes, control files and commands.
func TestAttack_ReportsAndErrors(t *testing.T) {
	m := mount(t)
	a := m.hide()
	// bob meets what is hidden, and asks why. He guesses two of the names.
	r := m.RunAs(bob, `
		echo x > in/half; echo x >> in/item; mv in in2; rmdir in; mv in/deep in/d; rmdir in/deep; ln in/half in/l; ln -s /x in/half; mkdir in/half
		getfattr -d -m - . in sticky sticky/item in/half in/item
		getfattr -n user.airlockfs.holds sticky/item; getfattr -n user.airlockfs.state sticky/item
		ls -lAi . in sticky; find . -ls
		cd /; for f in status locks events events@0 mount requests; do cat $M/.airlockfs/$f; done
		for c in status events locks why; do %[1]s $c $M/in; %[1]s $c --json $M/in; done; %[1]s why $M/in/item $M/sticky/item`, binary)
	require.NotContains(t, r.Out, "secret")
	for _, name := range []string{"shut.tmp", "open.tmp", "broken", "deep/quiet"} {
		require.NotContains(t, r.Out, name)
		require.Contains(t, m.RunAs(bob, `stat in/%[1]s; cat in/%[1]s; mv in/%[1]s in/mine; ln in/%[1]s in/mine`, name).Out, "No such file")
	}
	require.NotContains(t, r.Out, "pid "+decimal(uint32(a.PID())))
	require.NotContains(t, r.Out, `"pid":`+decimal(uint32(a.PID())))
	require.Contains(t, r.Out, "another user", "he is told that somebody holds it")
	told := m.Must(`cat .airlockfs/events`)
	require.Contains(t, told, "pid "+decimal(uint32(a.PID())), "root is told who")
	require.Contains(t, told, "met the unfinished file of")
	a.Say()
}

// Whatever name bob's program takes, it sees and gets no more.
func TestAttack_ObserverByASpoofedName(t *testing.T) {
	m := mount(t)
	a := m.hide()
	for _, name := range []string{"clamd", "updatedb", "tracker-extract", "sshd", "sftp-server", "smbd", "bash", "airlockfs", "systemd"} {
		r := m.RunAs(bob, "%s", spoof(name, `
			open("in/own", "w").close() # now the name is known
			seen = sorted(os.listdir("in"))
			for f in ("item", "half", "shut.tmp", "open.tmp", "broken"):
				try: seen.append(open("in/" + f).read())
				except OSError: pass
			print(*seen)`))
		require.Equal(t, "deep own\n", r.Out, name)
	}
	a.Say()
}

// A server's name only makes its own unfinished files suspect.
func TestAttack_ServerBySpoofedNameHarmsOnlyItself(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	r := m.RunAs(bob, "%s", spoof("sshd", `
		open("in/done", "w").write("complete")
		f = os.open("in/f", os.O_WRONLY | os.O_CREAT)
		os.write(f, b"x")
		os._exit(0)`))
	require.Zero(t, r.Code, r.Out)
	require.Equal(t, "quarantined", m.State("in/f"))
	require.Equal(t, "complete", m.RunAs(alice, `cat in/done`).Out)
}

// spoof runs a Python program under another task name.
func spoof(name, program string) string {
	return strings.Replace(pythonProgram(program), "import errno,", `import ctypes; ctypes.CDLL(None).prctl(15, b"`+name+`", 0, 0, 0); import errno,`, 1)
}

// Names and tasks that would draw on a terminal, or forge lines of a report or of the log.
func TestAttack_EscapeCodes(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	p := m.StartAs(bob, "%s", spoof(`\x1b[31mX\nY`, `
		f = open("in/\x1b]0;evil\x07\nforged", "w")
		f.write("x")
		f.flush()
		os.open("in/\x9b2J\u202e.tmp", os.O_CREAT | os.O_WRONLY)
		try: os.rename("in", "in2")
		except OSError: pass
		fcntl.flock(f, fcntl.LOCK_EX)
		sys.stdin.read()`))
	m.Until("both are there", func() bool { return len(m.Status()) == 2 })
	commands := `for c in status events locks why; do %[1]s $c .; %[1]s $c --json .; done; %[1]s why in/*; %[1]s why "$(printf 'in/\033]0;evil\a\nforged')"`
	told := m.Run(commands, binary).Out
	p.Kill()
	told += m.Run(commands, binary).Out + m.log.String()
	require.Contains(t, told, "forged")
	for _, raw := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\nforged", "\nY"} {
		require.NotContains(t, told, raw)
	}
}
