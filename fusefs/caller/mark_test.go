package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// endOf kills the processes, in this order, and says how the first one ended for its marks.
func endOf(t *testing.T, table *Table, signal unix.Signal, all ...*protocol.Party) protocol.End {
	t.Helper()
	for _, p := range all {
		require.NoError(t, unix.Kill(p.Process.PID, signal))
		waitEnded(t, table, p.ID)
	}
	return table.MarkEnd(all[0].ID)
}

func TestMarksGoToTheParent(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, runHelper("wait")+" <&0; read _")
	child := opener(table, p.printed())
	p.goOn()
	waitEnded(t, table, child.ID)
	end := table.MarkEnd(child.ID)
	assert.Equal(t, protocol.Clean, end.Verdict.Kind)
	require.NotNil(t, end.Heir)
	assert.Equal(t, p.pid(), end.Heir.Process.PID)
}

// Not of who was killed, nor of who has failed: that is the end of the mark.
func TestMarksOfWhoIsKilledGoToNobody(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, runHelper("wait")+" <&0; read _")
	end := endOf(t, table, unix.SIGKILL, opener(table, p.printed()))
	assert.Equal(t, protocol.Verdict{Kind: protocol.Killed, Status: 9}, end.Verdict)
	assert.Nil(t, end.Heir)
}

// A script that is killed while its mkdir is at work has left its lock as surely as one that is killed afterwards.
func TestMarksOfWhoseParentWasKilledFirst(t *testing.T) {
	for signal, want := range map[unix.Signal]protocol.VerdictKind{unix.SIGKILL: protocol.Killed, unix.SIGTERM: protocol.Clean} {
		table := newTable(t, Options{})
		p := bash(t, runHelper("wait")+" <&0; read _")
		child := opener(table, p.printed())
		parent := table.Party(child.Ancestors[0])
		require.NoError(t, unix.Kill(parent.Process.PID, signal))
		waitEnded(t, table, parent.ID)
		assert.Equal(t, parent.ID, table.End(parent.ID).Party)
		p.goOn()
		waitEnded(t, table, child.ID)
		end := table.MarkEnd(child.ID)
		assert.Equal(t, want, end.Verdict.Kind, signal)
		assert.Nil(t, end.Heir)
	}
}

// Nor does it matter that it was killed before its mkdir came to us.
func TestMarksOfWhoseScriptWasKilledBefore(t *testing.T) {
	for signal, want := range map[unix.Signal]protocol.VerdictKind{unix.SIGKILL: protocol.Killed, unix.SIGTERM: protocol.Clean} {
		table := newTable(t, Options{})
		p := bash(t, runHelper("wait")+" <&0; read _")
		pid := p.printed()
		script := who(table, p.pid())
		require.NoError(t, unix.Kill(p.pid(), signal))
		waitEnded(t, table, script.ID)
		require.NoError(t, waitOnly(p))
		child := opener(table, pid)
		require.Empty(t, child.Ancestors)
		p.goOn()
		waitEnded(t, table, child.ID)
		assert.Equal(t, want, table.MarkEnd(child.ID).Verdict.Kind, signal)
	}
}

// A session is left by a process that was known before: its children are its own.
func TestWhoseParentHasLeftItsSession(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `(echo $BASHPID; read _; exec setsid bash -c '`+runHelper("wait")+`; read _') <&0; read _`)
	leaver := who(table, p.printed())
	p.goOn()
	child := opener(table, p.printed())
	require.Equal(t, leaver.Process.PID, child.Process.Session)
	p.goOn()
	waitEnded(t, table, child.ID)
	end := table.MarkEnd(child.ID)
	require.NotNil(t, end.Heir)
	assert.Equal(t, leaver.ID, end.Heir.ID)
	assert.NotNil(t, table.End(child.ID).Heir, "so are its claims")
}

func TestWhoIsNamed(t *testing.T) {
	table := newTable(t, Options{})
	p := bash(t, `setsid bash -c '`+runHelper("wait")+` <&0 & echo $$; wait' <&0 & read _`)
	one, other := p.printed(), p.printed()
	middle, leaf := opener(table, one), opener(table, other)
	if middle.Process.PID != leaf.Process.Session {
		middle, leaf = leaf, middle
	}
	stranger := start(t, "sh", "-c", "read _")
	named := func(by *protocol.Party, numbers ...int) int {
		found, number := table.Named(by.ID, numbers)
		if found == nil {
			return 0
		}
		assert.Equal(t, number, found.Process.PID)
		return number
	}
	assert.Equal(t, leaf.Process.PID, named(leaf, leaf.Process.PID), "itself")
	assert.Equal(t, middle.Process.PID, named(leaf, 7, middle.Process.PID), "an ancestor")
	assert.Equal(t, p.pid(), named(leaf, p.pid()), "in another session")
	assert.Equal(t, leaf.Process.PID, named(middle, leaf.Process.PID), "a descendant")
	assert.Equal(t, leaf.Process.PID, named(who(table, p.pid()), leaf.Process.PID), "in another session")
	assert.Zero(t, named(leaf, stranger.pid()), "nobody of its own")
	assert.Zero(t, named(leaf, 1), "an ancestor of everybody")
	end := endOf(t, table, unix.SIGKILL, leaf)
	assert.Equal(t, protocol.Killed, end.Verdict.Kind)
	assert.Zero(t, named(middle, leaf.Process.PID), "it has ended")
}
