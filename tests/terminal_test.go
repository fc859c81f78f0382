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

// Terminal is a person at an interactive shell in the mount, in a session of its own. script(1) makes the terminal.
type Terminal struct {
	m    *Mount
	cmd  *exec.Cmd
	keys *os.File
	out  *output
	seen int
}

// prompt begins on a line of its own, whatever is shown before it.
const prompt = "\nready> "

// Terminal starts one.
func (m *Mount) Terminal() *Terminal {
	m.t.Helper()
	r, w, err := os.Pipe()
	require.NoError(m.t, err)
	inputrc := filepath.Join(scratch(m.t), "inputrc")
	require.NoError(m.t, os.WriteFile(inputrc, []byte("set enable-bracketed-paste off\n"), 0o644))
	shell := "exec env PS1=" + quote(`\nready> `) + " bash --norc --noprofile -i"
	x := &Terminal{m: m, keys: w, out: &output{}, cmd: exec.Command("script", "-qfec", shell, os.DevNull)}
	x.cmd.Dir, x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = m.Dir, r, x.out, x.out
	x.cmd.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C", "LESS=", "INPUTRC="+inputrc)
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(m.t, x.cmd.Start())
	r.Close()
	m.t.Cleanup(func() {
		x.End()
		if m.t.Failed() {
			m.t.Logf("the terminal: %q", tail(x.out.String(), 2000))
		}
	})
	x.Sees(prompt)
	return x
}

// Type types keys.
func (x *Terminal) Type(keys string) {
	x.m.t.Helper()
	_, err := x.keys.WriteString(keys)
	require.NoError(x.m.t, err)
}

// Sees waits until the terminal shows a text, after the last one that was waited for.
func (x *Terminal) Sees(text string) {
	x.m.t.Helper()
	x.m.Until("the terminal shows "+text, func() bool {
		at := strings.Index(x.out.String()[x.seen:], text)
		if at >= 0 {
			x.seen += at + len(text)
		}
		return at >= 0
	})
}

// Runs types a command and waits for its end. It returns what was shown meanwhile, the command itself included.
func (x *Terminal) Runs(command string) string {
	x.m.t.Helper()
	from := x.seen
	x.Type(command + "\n")
	x.Sees(prompt)
	return x.out.String()[from:x.seen]
}

// End hangs up. It may be called again.
func (x *Terminal) End() {
	x.keys.Close()
	_ = x.cmd.Process.Signal(syscall.SIGTERM)
	_ = x.cmd.Wait()
}

// TestI7_WhatAPersonLooksAtIsBackAtOnce: with the program's end, whatever the shell does with what it has read.
func TestI7_WhatAPersonLooksAtIsBackAtOnce(t *testing.T) {
	m := mount(t, "--rule", "work/**=work")
	m.Must(`mkdir sub work; for f in f g h sub/f; do echo text > $f; done; md5sum f g h sub/f > %s/sums`, scratch(t))
	x := m.Terminal()
	x.Runs(`exec 5< f`)
	require.Equal(t, 1, m.claimed(), "while it is open")
	for _, command := range []string{
		`exec 5<&-`, `cat f`, `cat f | head -c1`, `(cat f)`, `time cat f`, `sudo cat f`, `sh -c 'cat f; true'`, `timeout 9 cat f`, `nohup cat f`,
		`v=$(cat f)`, `v=$(<f)`, `while read -r l; do echo $l; done < f`, `mapfile x < f`, `. /dev/stdin < f`,
		`for i in *; do wc -l $i; done`, `ls -lR; ls --color=always`, `du -a`, `file *`, `find . -type f -exec file {} +`, `find . -type f -exec cat {} \;`,
		`grep -r text .`, `md5sum * > /dev/null`, `tar c . > /dev/null`, `cp f /dev/null`, `mv g g2; mv g2 g`, `less f < /dev/null | cat`,
		`python3 -c 'open("f").read()'`, `cat f & wait`, `strings f; wc f; sum f; head f; tail f; od f`,
	} {
		x.Runs(command)
		require.Zero(t, m.claimed(), command)
	}
	x.Runs(`diff <(sort f) <(sort g)`)
	m.Until("both sorts have ended, for which bash does not wait", func() bool { return m.claimed() == 0 })
	require.Equal(t, "text\ntext\ntext\ntext", m.Must(`cat f g h sub/f`))
	require.Equal(t, "0", m.attempts("f"))
	x.Runs(`mv h work/`)
	require.Equal(t, "h", m.Must(`ls work`), "who moves it by hand has done so")
}

// TestI3_APagerHasWhatItShows until it is left, or killed while it is stopped.
func TestI3_APagerHasWhatItShows(t *testing.T) {
	m := mount(t)
	m.Must(`echo the text > report.csv; echo more > other`)
	x := m.Terminal()
	x.Type("less report.csv\n")
	x.Sees("the text")
	m.Until("it is claimed", func() bool { return m.State("report.csv") == "claimed" })
	require.Equal(t, "less", m.Holder("report.csv"))
	m.requireHidden("report.csv")
	x.Type("q")
	x.Sees(prompt)
	require.Equal(t, "the text", m.Must(`cat report.csv`))

	x.Type("less report.csv\n")
	x.Sees("the text")
	less := m.Item("report.csv").Owner.PID
	m.Until("less waits for a key", func() bool { return readsTerminal(less) }) // it misses a ^Z right before
	x.Type("\x1a")
	x.Sees(prompt)
	m.requireHidden("report.csv")
	x.Runs(`kill %1; fg`)
	require.Equal(t, "the text", m.Must(`cat report.csv`))
	require.Equal(t, "0", m.attempts("report.csv"))
}

// readsTerminal tells whether a process sleeps in read(2) on its terminal.
func readsTerminal(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	call, fd := -1, -1
	if _, failed := fmt.Sscanf(string(text), "%d 0x%x", &call, &fd); err != nil || failed != nil || call != syscall.SYS_READ {
		return false
	}
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return err == nil && (strings.HasPrefix(file, "/dev/pts/") || file == "/dev/tty")
}

// TestI3_CompletionClaimsNothing, nor do listings: they only look.
func TestI3_CompletionClaimsNothing(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir in; echo the text > in/report.csv`)
	x := m.Terminal()
	x.Runs(`. /usr/share/bash-completion/bash_completion`)
	x.Type("cat i\t")
	x.Sees("in/")
	x.Type("rep\t")
	x.Sees("report.csv ")
	require.Equal(t, "in/report.csv", m.Must(`find in -type f`))
	x.Type("\n")
	x.Sees("the text")
	x.Sees(prompt)
	require.Equal(t, "1", m.Must(`%s events --json %s | grep -c claimed`, binary, m.Dir), "by the command alone")
	require.Equal(t, "the text", m.Must(`cat in/report.csv`))
}

// TestI3_AScriptWithATerminalOfItsOwnIsAWorker, as `ssh -t HOST SCRIPT` and screen(1) run it: nobody is at its prompt.
func TestI3_AScriptWithATerminalOfItsOwnIsAWorker(t *testing.T) {
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			m := mount(t)
			m.Must(`echo text > f; echo text > g`)
			marks := scratch(t)
			work := fmt.Sprintf(`wc f; v=$(cat f); while read -r l; do :; done < g; : > %s/read; while [ -d %[1]s ] && [ ! -e %[1]s/go ]; do :; done; rm f g`, marks)
			p := m.Start(`script -qec %s %s < %[2]s`, quote("exec "+shell+" -c "+quote(work)), os.DevNull)
			t.Cleanup(func() { goOn(t, marks) })
			m.untilMarked(marks, 1)
			require.Equal(t, 2, m.claimed())
			m.requireHidden("f", "g")
			goOn(t, marks)
			require.Zero(t, p.Wait().Code)
			require.Empty(t, m.List("."))
		})
	}
}
