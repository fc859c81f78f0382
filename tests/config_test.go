package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// configFile is a configuration of a test's own.
func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(scratch(t), "drop.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// TestConfig: what is in the file is so, but for what a flag says otherwise, and each rule is told with its line.
func TestConfig(t *testing.T) {
	file := configFile(t, "rules:\n- in/**=log\n- out/**=archive\n- s/**=serial,conflict=copy\ntemp: ['*.mine']\nlinger: 0\n")
	m := mount(t, "--config", file, "--rule", "in/**=queue,publish=rename", "--linger", "1h")
	m.Must(`mkdir in out; echo x >in/f; echo x >out/f.mine; echo x >g.mine; echo x >t; mv t out/f; echo y >t; mv t out/f`)
	require.Empty(t, m.List("in"), "the flag's rule is asked first")
	require.Equal(t, []string{"f", "f.1", "f.mine"}, m.List("out"))
	require.NotContains(t, m.List("."), "g.mine")
	require.Equal(t, file, m.facts().Config)
	m.untilLogged(fmt.Sprintf(`rule "s/**=serial,conflict=copy" (%s:4): conflict=copy has no effect yet`, file))

	says := func(args ...string) string {
		out, err := exec.Command(binary, append([]string{"rules"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Contains(t, says(m.Path("out/f")), fmt.Sprintf(`rule "out/**=archive" (%s:3)`, file))
	require.Contains(t, says(m.Path("in/f")), `rule "in/**=queue,publish=rename" (--rule)`)
	require.Contains(t, says("--config", file, "in/f"), fmt.Sprintf(`rule "in/**=log" (%s:2)`, file))
}

// A mount that was told something that can't be does not come, and leaves no trace.
func TestABadConfigIsRefused(t *testing.T) {
	t.Parallel()
	backing, dir := scratch(t), scratch(t)
	file := configFile(t, "lingr: 1h\nrules:\n- a=log\n- a=plain\n")
	for _, args := range [][]string{{"--config", file}, {"-o", "config=" + file}} {
		out, code := refusal(t, backing, dir, args...)
		require.Equal(t, 2, code, out)
		require.Contains(t, out, file+`:1:1: there is no setting "lingr": did you mean linger?`)
		require.Contains(t, out, file+":4:3: the rule in line 3 is for the same names")
	}
	out, code := refusal(t, backing, dir, "--config", file+"x")
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "does not exist")
	left, err := os.ReadDir(backing)
	require.NoError(t, err)
	require.Empty(t, left)
}

// example is a file of docs/examples, and folders for its mount.
func example(t *testing.T, name string, folders ...string) *Mount {
	t.Helper()
	m := mount(t, "--config", "../docs/examples/"+name+".yaml")
	for _, f := range folders {
		require.NoError(t, os.Mkdir(m.Below(f), 0o755))
	}
	return m
}

func TestTheExampleOfADropFolder(t *testing.T) {
	m := example(t, "drop-folder", "inbox", "smb", "done", "error")

	slow := m.Start(`exec 3>inbox/a; echo half >&3; echo ready; read; echo rest >&3`)
	m.Until("it is being written", func() bool { return m.State("inbox/a") == "staged" })
	require.Empty(t, m.List("inbox"))
	slow.Say()
	require.Zero(t, slow.Wait().Code)
	require.Equal(t, "half\nrest", m.Must(`cat inbox/a; rm inbox/a`))

	m.Run(`exec 3>inbox/b; echo half >&3; kill -9 $$`)
	require.Equal(t, "quarantined", m.State("inbox/b"), "one that breaks off never appears")
	m.Must(`echo x >inbox/c.wip; echo x >inbox/d.part; mv inbox/d.part inbox/d; echo x >smb/e; echo x >smb/f; mv smb/f smb/g; echo x >inbox/._h`)
	require.Equal(t, []string{"d"}, m.List("inbox"), "temp names and litter are not listed")
	require.Equal(t, []string{"g"}, m.List("smb"), "only a rename says that it is complete")

	m.Must(`mv inbox/d done/x; mv smb/g done/x`)
	require.Equal(t, []string{"x", "x.1"}, m.List("done"), "nothing is replaced")

	m.Must(`echo x >inbox/i`)
	watch := filepath.Join(scratch(t), "clamd")
	require.NoError(t, exec.Command("cp", program(t, "cat"), watch).Run())
	require.Equal(t, "x", m.Must(`exec 3<&0; %s inbox/i; setsid -w test -e inbox/i`, watch), "who looks takes nothing")
}

func TestTheExampleOfLegacyScripts(t *testing.T) {
	m := example(t, "legacy-scripts", "in", "out", "done", "failed", "logs")
	convert := filepath.Join(scratch(t), "convert")
	require.NoError(t, os.WriteFile(convert, []byte("#!/bin/sh\nread line <\"$1\" && echo \"$line\" >>\"$LOG\" && echo \"was $line\" >\"$2\" && test \"$line\" != bad\n"), 0o755))
	loop := `export LOG=logs/all; for f in in/*; do
		` + convert + ` "$f" out/"$(basename "$f")" && mv "$f" done/ || mv "$f" failed/
	done 2>/dev/null`

	m.Must(`for i in 1 2 3 4 5 6 7 8 9; do echo $i >in/$i; done; echo bad >in/bad; echo x >in/later.new`)
	killed := m.Start(`exec 3<in/9; read`)
	m.Until("it has the file", func() bool { return m.State("in/9") == "claimed" })
	one, other := m.Start(loop), m.Start(loop)
	one.Wait()
	other.Wait()
	require.Equal(t, "1 2 3 4 5 6 7 8", strings.Join(m.List("done"), " "))
	require.Equal(t, []string{"bad"}, m.List("failed"))
	require.Empty(t, m.List("in"), "9 is taken, later.new is not finished")
	require.Equal(t, "1 2 3 4 5 6 7 8", strings.Join(m.List("out"), " "), "what a program that failed has written is not there")
	require.Contains(t, m.states("out/bad"), "quarantined")
	require.Equal(t, "1\n2\n3\n4\n5\n6\n7\n8\nbad", m.Must(`sort logs/all`), "each went to one of the two")

	killed.Kill()
	m.Must("%s", loop)
	require.Equal(t, "was 9", m.Must(`cat out/9`), "it was there again for the next one")
	m.Must(`echo one >logs/l; exec 3>>logs/l; echo two >&3; setsid -w grep -q two logs/l`)
}

func TestTheExampleOfStateFiles(t *testing.T) {
	m := example(t, "state-files", "state", "counters", "run", "data")
	m.Must("echo 0 > counters/c; echo one > state/f; echo 0123456789 > data/r")
	m.Must("for i in 1 2 3 4 5 6; do setsid -w bash -c 'n=$(cat counters/c); echo $((n+1)) > counters/c' & done; wait")
	require.Equal(t, "6", m.Must("cat counters/c"))

	late := m.Client()
	require.Equal(t, "one\n", late.reads("state/f"))
	m.Must("echo two > state/f")
	require.Equal(t, "EBUSY", late.Call("open", "w", "state/f", "wct"))
	require.Equal(t, "two", m.Must("cat state/f"))

	holder := m.Start(`mkdir run/job; exec 9<> data/r; flock 9; exec 8> run/d; flock 8; read`)
	m.untilLocks(3, 0)
	require.Contains(t, m.Run("rmdir run/job").Out, "Device or resource busy")
	require.Contains(t, m.Run("rm run/d").Out, "Device or resource busy")
	require.Contains(t, m.Run("cat data/r").Out, "Device or resource busy")
	holder.Kill()
	m.Until("the name is free", func() bool { return m.Run("mkdir run/job").Code == 0 })
	require.Equal(t, "0123456789", m.Must("rm run/d; cat data/r"))
}

func TestTheExampleOfLocalTesting(t *testing.T) {
	m := example(t, "local-testing", "strict", "plain")
	m.Must(`echo x >f; setsid -w sh -c 'exec 3>left.tmp; kill -9 $$'; (echo x >strict/a); (echo x >strict/b; exit 3); true`)
	m.Run(`exec 3>plain/p; kill -9 $$`)
	require.Equal(t, []string{"a"}, m.List("strict"))
	require.Equal(t, []string{"p"}, m.List("plain"))
	c := m.Client()
	c.OK("open r f r", "close r")
	require.Contains(t, m.List("."), "f", "what somebody has taken can be seen")
	require.Equal(t, result{Out: "cat: f: Device or resource busy\n", Code: 1}, m.Run("cat f"))
	m.Until("the claim is back", func() bool { return m.Run("cat f").Code == 0 })
	m.Until("what was left is in quarantine", func() bool { return m.State("left.tmp") == "quarantined" })
	require.Contains(t, m.log.String(), "level=DEBUG")
}

// TestTryWithTheExample is what the example says of itself.
func TestTryWithTheExample(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("timeout", "-s", "KILL", "60", binary, "try", "--config", "../docs/examples/local-testing.yaml", "--",
		"sh", "-c", "mkdir strict; (echo x >strict/a; exit 3); echo x >b; cat b; rm b; exit 4")
	out, _ := cmd.CombinedOutput()
	require.Equal(t, 4, cmd.ProcessState.ExitCode(), "%s", out)
	require.Regexp(t, `(?s)strict/a\n.*→ quarantine.*b\n.*→ done`, string(out))
}
