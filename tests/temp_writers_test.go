package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// shared is a mount whose folder every user may write to.
func shared(t *testing.T) *Mount {
	t.Helper()
	m := mount(t)
	m.Must("chmod 1777 .")
	return m
}

// TestAbandonedTempNameIsFreeAtOnce: its writer was killed; the next one starts anew.
func TestAbandonedTempNameIsFreeAtOnce(t *testing.T) {
	m := mount(t)
	require.Equal(t, 137, m.Run(`exec 3>t.tmp; printf old >&3; kill -9 $$`).Code)
	m.Must(`set -C; echo new > t.tmp && [ "$(cat t.tmp)" = new ] && mv t.tmp f`)
	require.Equal(t, "f\n4\nnew\n", m.Run("%s", look).Out)
	i := m.item("t.tmp")
	require.Equal(t, "abandoned", i.State)
	require.Regexp(t, `writer pid \d+ \(bash\) killed by signal 9 after 3 bytes$`, i.Reason)
	require.Equal(t, "old", m.bytesOf(i))
}

// TestAbandonedTempFileCanNotBeContinued: nobody knows what of it is good.
func TestAbandonedTempFileCanNotBeContinued(t *testing.T) {
	m := mount(t)
	require.Equal(t, 137, m.Run(`exec 3>t.tmp; printf half >&3; kill -9 $$`).Code)
	require.NotZero(t, m.Run("stat t.tmp").Code)
	require.NotZero(t, m.Run("mv t.tmp f").Code)
	m.Must(`printf rest >> t.tmp; mv t.tmp f`)
	require.Equal(t, "f\n4\nrest", m.Run("%s", look).Out)
}

// TestResumableTempFileIsContinuedByTheSameUser, without O_TRUNC.
func TestResumableTempFileIsContinuedByTheSameUser(t *testing.T) {
	for _, name := range []string{"f.part", "f.filepart", "f.partial", "f.crdownload"} {
		for _, next := range []struct {
			name, script string
			uid          uint32
			seen         string
		}{
			{"continued", `printf rest >> %s`, alice, "f\n8\nhalfrest"},
			{"begun anew", `printf rest > %s`, alice, "f\n4\nrest"},
			{"another user's", `printf rest >> %s`, bob, "f\n4\nrest"},
		} {
			t.Run(name+" "+next.name, func(t *testing.T) {
				m := shared(t)
				killed := m.RunAs(alice, `exec 3>%s; printf half >&3; kill -9 $$`, name)
				require.Equal(t, 137, killed.Code, killed.Out)
				require.Empty(t, m.Run("%s", look).Out)
				r := m.RunAs(next.uid, next.script+" && mv %s f", name, name)
				require.Zero(t, r.Code, r.Out)
				require.Equal(t, next.seen, m.Run("%s", look).Out)
			})
		}
	}
}

// TestParkedTempFileWaitsForItsUser: its writer ended well, and nobody is there to inherit it.
func TestParkedTempFileWaitsForItsUser(t *testing.T) {
	m := shared(t)
	r := m.RunAs(alice, "echo data > t.tmp")
	require.Zero(t, r.Code, r.Out)
	m.Until("it is parked", func() bool { return m.State("t.tmp") == "parked" })
	i := m.item("t.tmp")
	require.Equal(t, "data\n", m.bytesOf(i))
	require.Empty(t, m.List("."), "unlisted")
	require.Equal(t, "5\n", m.RunAs(alice, "stat -c %%s %s", "t.tmp").Out, "found by its exact name")

	require.NotZero(t, m.RunAs(bob, "stat t.tmp").Code, "another user's")
	require.NotZero(t, m.RunAs(bob, "cat t.tmp").Code)
	require.NotZero(t, m.RunAs(bob, "mv t.tmp f").Code)

	reader := m.StartAs(alice, "cat t.tmp; read -r")
	m.Until("who reads it has it", func() bool { return m.State("t.tmp") == "staged" })
	require.NotZero(t, m.RunAs(alice, "stat t.tmp").Code, "nobody else's meanwhile")
	reader.Say()
	require.Equal(t, result{Out: "data\n", Code: 0}, reader.Wait())
	m.Until("it is parked again", func() bool { return m.State("t.tmp") == "parked" })

	r = m.RunAs(alice, "mv t.tmp f")
	require.Zero(t, r.Code, r.Out)
	require.Equal(t, "f\n5\ndata\n", m.Run("%s", look).Out)
}

// TestParkedTempFileCanBeContinued by whoever of the same user opens it for writing.
func TestParkedTempFileCanBeContinued(t *testing.T) {
	m := shared(t)
	require.Zero(t, m.RunAs(alice, "echo one > t.tmp").Code)
	require.Empty(t, m.List("."))
	r := m.RunAs(alice, "echo two >> t.tmp; cat t.tmp; mv t.tmp f")
	require.Equal(t, result{Out: "one\ntwo\n"}, r)
	require.Equal(t, "f\n8\none\ntwo\n", m.Run("%s", look).Out)
}

// TestTempFileGoesToTheScriptWhoseProgramMadeIt, however deep in it.
func TestTempFileGoesToTheScriptWhoseProgramMadeIt(t *testing.T) {
	m := mount(t)
	m.Must(`echo data | tee t.tmp >/dev/null; ( cat < t.tmp > u.tmp ); [ "$(cat t.tmp u.tmp)" = "$(echo data; echo data)" ] && [ -z "$(setsid ls)" ] && mv t.tmp f; rm u.tmp`)
	require.Equal(t, "f\n5\ndata\n", m.Run("%s", look).Out)
	m.nothingIsLeft()
}

// TestI1_TempNamesOfStrangersDoNotMeet: each has a file of his own.
func TestI1_TempNamesOfStrangersDoNotMeet(t *testing.T) {
	m := mount(t)
	one := m.Start(`set -C; echo one > t.tmp; read -r; cat t.tmp; mv t.tmp f1`)
	m.Until("the first has written", func() bool { return m.State("t.tmp") == "staged" })
	m.Must(`set -C; echo two > t.tmp; cat t.tmp; mv t.tmp f2`)
	one.Say()
	require.Equal(t, result{Out: "one\n"}, one.Wait())
	require.Equal(t, "one\ntwo", m.Must("cat f1 f2"))
}

// TestI7_AnAliasGoesToTheHeirOfItsLinker, at once: who made and linked the temp file has ended when it is removed.
func TestI7_AnAliasGoesToTheHeirOfItsLinker(t *testing.T) {
	m := mount(t)
	m.Must(`for i in $(seq 20); do sh -c 'echo data > t.tmp; ln t.tmp $0; true' $i; rm t.tmp || exit; done; [ "$(ls | wc -l)" = 20 ]`)
	m.Must(`sh -c 'echo data > t.tmp; ln t.tmp f; true'; [ -e t.tmp ] && [ "$(setsid -w ls | grep -c tmp)" = 0 ] && rm t.tmp`)
	require.Equal(t, "data", m.Must("cat f"))
	m.nothingIsLeft()
}

// TestI1_AnAliasEndsWithWhatItStandsFor: the linked file is taken by a stranger before its writer removes the temp name.
func TestI1_AnAliasEndsWithWhatItStandsFor(t *testing.T) {
	m := mount(t)
	writer := m.Client()
	writer.OK("open w t.tmp wc", "write w data", "close w", "link t.tmp f")
	require.Equal(t, []string{"f"}, m.List("."), "the temp name stays its writer's")
	m.Must("rm f")
	require.Contains(t, []string{"ENOENT", ""}, writer.Call("unlink", "t.tmp"))
	writer.OK("open w t.tmp wcx", "write w again", "close w", "link t.tmp f", "unlink t.tmp")
	require.Equal(t, "again", m.Must("cat f"))
}
