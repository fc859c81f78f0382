package caller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

const (
	patience = 20 * time.Second
	tick     = time.Millisecond
)

func procPath(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// waitOnly waits for the process, but not for the end of its output, which its children may have inherited.
func waitOnly(p *prog) error {
	_, err := p.Process.Wait()
	return err
}

// heirAfter lets the party end and returns its heir.
func heirAfter(t *testing.T, table *Table, party *protocol.Party) *protocol.Party {
	t.Helper()
	assert.Nil(t, table.End(party.ID).Heir, "no heir of the living")
	require.NoError(t, unix.Kill(party.Process.PID, unix.SIGTERM))
	waitEnded(t, table, party.ID)
	return table.End(party.ID).Heir
}

func TestHeirOfAProgramRunByAScript(t *testing.T) {
	for _, sees := range []func(*Table, int) *protocol.Party{who, opener} {
		table := newTable(t, Options{})
		p := bash(t, runHelper("wait")+"; read _")
		party := sees(table, p.printed())
		heir := heirAfter(t, table, party)
		require.NotNil(t, heir)
		assert.Equal(t, p.pid(), heir.Process.PID)
	}
}

func TestHeirOfASubshell(t *testing.T) {
	for _, sees := range []func(*Table, int) *protocol.Party{who, opener} {
		table := newTable(t, Options{})
		p := bash(t, `( echo $BASHPID; read _ ); read _`)
		heir := heirAfter(t, table, sees(table, p.printed()))
		require.NotNil(t, heir)
		assert.Equal(t, p.pid(), heir.Process.PID)
	}
}

func TestHeirOfASubshellOfANamedScript(t *testing.T) {
	table := newTable(t, Options{})
	script := filepath.Join(t.TempDir(), "nightly-job")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/bash\n( echo $BASHPID; read _ ); read _\n"), 0o700))
	p := start(t, script)
	party := opener(table, p.printed())
	assert.Equal(t, "nightly-job", party.Program)
	assert.NotNil(t, heirAfter(t, table, party))
}

func TestForkThatDoesNotExecHasNoHeir(t *testing.T) {
	for _, sees := range []func(*Table, int) *protocol.Party{who, opener} {
		table := newTable(t, Options{})
		p := shell(t, "exec env "+runHelper("fork"))
		party := sees(table, p.printed())
		assert.Len(t, party.Ancestors, 1)
		assert.Nil(t, heirAfter(t, table, party))
	}
}

// A parent is known by the name it had; what counts is the one it has.
func TestForkOfAParentThatExecedMeanwhile(t *testing.T) {
	table := newTable(t, Options{})
	p := shell(t, "echo ready; read _; exec env "+runHelper("fork"))
	require.Equal(t, "ready", p.line())
	require.Equal(t, "sh", who(table, p.pid()).Program)
	p.goOn()
	child := who(table, p.printed())
	assert.Equal(t, "caller.test", table.Party(child.Ancestors[0]).Program)
	assert.Nil(t, heirAfter(t, table, child))
}

func TestHeirThroughTimeout(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `timeout 60 `+"env "+runHelper("wait")+"; read _")
	inner := opener(table, p.printed())
	limit := table.Party(inner.Ancestors[0])
	assert.Equal(t, "timeout", limit.Program)
	heir := heirAfter(t, table, inner)
	require.NotNil(t, heir, "whether timeout has ended by now or not")
	waitEnded(t, table, limit.ID)
	last := table.End(limit.ID).Heir
	require.NotNil(t, last)
	assert.Equal(t, p.pid(), last.Process.PID)
	assert.Contains(t, []protocol.PartyID{limit.ID, last.ID}, heir.ID)
}

func TestHeirOfTheParentThatEndedNext(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `( ( echo $BASHPID; read _ ); exit 1 ); read _`)
	child := who(table, p.printed())
	e := table.entry(child.ID)
	p.goOn()
	waitEnded(t, table, child.Ancestors[0])
	got := table.heirOf(e)
	require.NotNil(t, got)
	assert.Equal(t, p.pid(), got.Process.PID)
}

// What a supervisor starts again when it ends does not work for it.
func TestNoHeirIsASupervisor(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, "echo -n supervisord > /proc/self/comm; "+runHelper("wait")+"; read _")
	party := who(table, p.printed())
	require.Equal(t, "supervisord", table.Party(party.Ancestors[0]).Program)
	assert.Nil(t, heirAfter(t, table, party))
}

func TestNoHeirWhenTheParentHasEnded(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, "exec 3<&0; env "+runHelper("wait")+" <&3 & read _")
	party := who(table, p.printed())
	require.Len(t, party.Ancestors, 1)
	require.NoError(t, p.Process.Kill())
	waitEnded(t, table, party.Ancestors[0])
	table.End(party.Ancestors[0])
	assert.Nil(t, heirAfter(t, table, party))
}

func TestNoHeirInAnotherSession(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, "setsid -w env "+runHelper("wait")+"; read _")
	assert.Nil(t, heirAfter(t, table, who(table, p.printed())))
}

// An interactive shell puts each command aside as a job of its user; inside the job, scripts go on with what is theirs.
func TestHeirUnderJobControl(t *testing.T) {
	table := newTable(t, Options{})
	tty := interactive(t)
	tty.run(runHelper("wait34"))
	command := opener(table, tty.printed())
	assert.True(t, command.Terminal)
	assert.True(t, command.JobControl)
	shell := table.Party(command.Ancestors[0])
	assert.True(t, shell.Terminal, "learnt from its child")
	assert.True(t, shell.JobControl, "a person is at its prompt")
	assert.Nil(t, heirAfter(t, table, command))

	tty.run("( " + runHelper("wait34") + "; read _ )")
	inner := who(table, tty.printed())
	assert.True(t, inner.Terminal, "known of the session by now")
	assert.False(t, inner.JobControl)
	subshell := heirAfter(t, table, inner)
	require.NotNil(t, subshell)
	assert.True(t, subshell.JobControl)
	assert.Nil(t, heirAfter(t, table, subshell))

	tty.run("v=$( exec 4<&4; " + runHelper("wait34") + " )")
	part := opener(table, tty.printed())
	assert.False(t, part.JobControl, "it is in the shell's own group")
	assert.Nil(t, heirAfter(t, table, part), "nobody works on what a person looked at")
}

// terminal is an interactive bash on a pseudoterminal. What it runs prints on descriptor 3 and reads from 4.
type terminal struct {
	*prog
	master *os.File
}

func interactive(t *testing.T) *terminal {
	t.Helper()
	master, slave := openPTY(t)
	out, outW, err := os.Pipe()
	require.NoError(t, err)
	inR, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("bash", "--norc", "--noprofile", "-i")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.ExtraFiles = []*os.File{outW, inR}
	cmd.Env = append(os.Environ(), "HELPER="+os.Args[0], "HISTFILE=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	for _, f := range []*os.File{slave, outW, inR} {
		require.NoError(t, f.Close())
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = master.Close() // hangs up whatever still runs there
		_, _ = out.Close(), in.Close()
		_ = cmd.Wait()
	})
	return &terminal{prog: newProg(t, cmd, in, out), master: master}
}

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return os.NewFile(uintptr(fd), "ptmx"), slave
}

func (tty *terminal) run(command string) {
	tty.t.Helper()
	_, err := tty.master.WriteString(command + "\n")
	require.NoError(tty.t, err)
}
