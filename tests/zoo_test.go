package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// zoo is a mount on which stock programs do what docs/programs.md says. Each row there names its test in a file
// zoo_*_test.go. Scripts find in $S a folder outside of the mount, with a file f to deliver.
type zoo struct {
	*Mount
	S string
}

func newZoo(t *testing.T, flags ...string) *zoo {
	t.Helper()
	z := &zoo{mount(t, flags...), scratch(t)}
	z.Must(`cd $S; head -c 1000000 /dev/urandom > f; touch -d 2001-02-03 f`)
	return z
}

// Start, Run and Must take the script as it is: it is no format.
func (z *zoo) Start(script string) *Process {
	return z.Mount.Start("%s", "export S="+z.S+"; exec 2>&1; "+script)
}

func (z *zoo) Run(script string) result { return z.Start(script).Wait() }

func (z *zoo) Must(script string) string {
	z.t.Helper()
	r := z.Run(script)
	require.Zero(z.t, r.Code, "%s\n%s", script, r.Out)
	return strings.TrimSuffix(r.Out, "\n")
}

// at has a command be sent a signal when it makes the nth call of a kind, on a file if one is named. strace(1) sends it, so
// it comes half-way, and at the same byte each time.
func at(signal, call string, n int, file, command string) string {
	if file != "" {
		file = "-P $M/" + file
	}
	return fmt.Sprintf("strace -f -qq -o $S/trace %s -e trace=%s -e inject=%s:signal=%s:when=%d -- %s", file, call, call, signal, n, command)
}

// stopped waits until a command has been stopped by at.
func (z *zoo) stopped() {
	z.t.Helper()
	z.Until("the program has stopped", func() bool {
		trace, err := os.ReadFile(filepath.Join(z.S, "trace"))
		return err == nil && strings.Contains(string(trace), "stopped by SIGSTOP")
	})
}

// Continue lets a stopped script and its programs go on.
func (p *Process) Continue() { _ = syscall.Kill(-p.PID(), syscall.SIGCONT) }

// seen is what a stranger finds in the mount: all names, and what can be read of f.
func (z *zoo) seen() string {
	z.t.Helper()
	return z.Must(`find . -mindepth 1 ! -path './.git*'; cat f 2>/dev/null; true`)
}

// left are the states of everything that is not public, by path.
func (z *zoo) left() map[string]string {
	z.t.Helper()
	all := map[string]string{}
	for path, items := range z.Status() {
		for _, i := range items {
			all[path] = i.State
		}
	}
	return all
}
