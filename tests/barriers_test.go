package tests

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// lookIn is everything a stranger finds out about the folder in and its file f.
const lookIn = "cd in; " + look

// ruled mounts with a rule for the folder in.
func ruled(t *testing.T, switches string) *Mount {
	t.Helper()
	m := mount(t, "--rule", "in/**=queue,"+switches)
	m.Must("mkdir in")
	return m
}

// eventTime is when something last happened to a path.
func (m *Mount) eventTime(path, what string) time.Time {
	m.t.Helper()
	var at time.Time
	var events []report.Event
	require.NoError(m.t, json.Unmarshal([]byte(m.Must("cat .airlockfs/events")), &events))
	for _, e := range events {
		if e.Path == path && e.What == what {
			at = e.Time
		}
	}
	require.NotZero(m.t, at, "%s was never %s", path, what)
	return at
}

// TestI2_PublishExitWaitsForTheEndOfTheWriter, who closed long before, and for a good one.
func TestI2_PublishExitWaitsForTheEndOfTheWriter(t *testing.T) {
	for _, w := range []struct {
		name, script string
		seen         string // after the writer's end
		reason       string
	}{
		{"ends with 0", `echo data > in/f; read -r; exit 0`, "f\n5\ndata\n", ""},
		{"ends with 3", `echo data > in/f; read -r; exit 3`, "", `pid \d+ \(bash\) ended with 3`},
		{"is killed", `echo data > in/f; read -r; kill -9 $$`, "", `pid \d+ \(bash\) killed by signal 9`},
		{"renamed it, ends with 0", `echo data > in/t.tmp; mv in/t.tmp in/f; read -r; exit 0`, "f\n5\ndata\n", ""},
		{"renamed it, ends with 3", `echo data > in/t.tmp; mv in/t.tmp in/f; read -r; exit 3`, "", `pid \d+ \(bash\) ended with 3`},
		{"renamed it, is killed", `echo data > in/t.tmp; mv in/t.tmp in/f; read -r; kill -9 $$`, "", `pid \d+ \(bash\) killed by signal 9`},
		{"wrote it twice, ends with 0", `echo old > in/f; echo data > in/f; read -r; exit 0`, "f\n5\ndata\n", ""},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := ruled(t, "publish=exit")
			p := m.Start("%s", w.script)
			m.Until("it is closed under its final name", func() bool { return m.State("in/f") == "held" })
			i := m.item("in/f")
			require.Equal(t, "exit", i.Barrier)
			require.Contains(t, i.Reason, "publish=exit: pid ")
			require.Equal(t, "data\n", m.bytesOf(i))
			require.Empty(t, m.Run("%s", lookIn).Out, "while its writer lives")
			p.Say()
			p.Wait()
			require.Equal(t, w.seen, m.Run("%s", lookIn).Out, "after its end")
			if w.seen == "" {
				i = m.item("in/f")
				require.Equal(t, "quarantined", i.State)
				require.Regexp(t, w.reason, i.Reason)
				require.Equal(t, "data\n", m.bytesOf(i))
			}
		})
	}
}

// TestI7_PublishExitPublishesAtTheEndOfTheWritingProcess, not at that of its parent, who only waits for it.
func TestI7_PublishExitPublishesAtTheEndOfTheWritingProcess(t *testing.T) {
	m := ruled(t, "publish=exit")
	p := m.Start(`python3 -c 'f = open("in/f", "w"); f.write("data"); f.close(); input()'; setsid bash -c "cat in/f"`)
	m.Until("it is closed, which is not enough", func() bool { return m.State("in/f") == "held" })
	p.Say()
	require.Equal(t, "data", p.Wait().Out)
}

// TestI2_PublishRenameWaitsForARename: a close, and the end of the writer, are not enough.
func TestI2_PublishRenameWaitsForARename(t *testing.T) {
	m := ruled(t, "publish=rename")
	p := m.Start(`echo data > in/g; read -r; mv in/g in/f; read -r`)
	m.Until("it is closed", func() bool { return m.State("in/g") == "held" })
	require.Equal(t, "rename", m.item("in/g").Barrier)
	require.Empty(t, m.List("in"))
	p.Say()
	m.Until("it is renamed", func() bool { return m.State("in/g") == "" })
	require.Equal(t, "f\n5\ndata\n", m.Run("%s", lookIn).Out)

	m.Must("echo data > in/h")
	require.Equal(t, []string{"f"}, m.List("in"))
	i := m.item("in/h")
	require.Equal(t, "publish=rename: it was not renamed", i.Reason)
	require.Equal(t, "data\n", m.bytesOf(i))
}

// TestI2_PublishQuietWaitsUntilNobodyHasChangedItForAWhile: each change starts the time anew.
func TestI2_PublishQuietWaitsUntilNobodyHasChangedItForAWhile(t *testing.T) {
	m := mountAlone(t, "--rule", "in/**=queue,publish=quiet=300ms")
	m.Must("mkdir in")
	m.Must(`echo one > in/f; echo two >> in/f; setsid bash -c "cat in/f" && exit 1; echo three >> in/f`)
	m.Until("it is published", func() bool { return len(m.List("in")) > 0 })
	require.Equal(t, "f\n14\none\ntwo\nthree\n", m.Run("%s", lookIn).Out)
	require.GreaterOrEqual(t, m.eventTime("in/f", "published").Sub(m.eventTime("in/f", "held")), 300*time.Millisecond)
}

func TestI2_WhatWaitsForQuietIsExplained(t *testing.T) {
	m := ruled(t, "publish=quiet=1h")
	m.Must("echo data > in/f")
	require.Empty(t, m.Run("%s", lookIn).Out)
	i := m.item("in/f")
	require.Equal(t, "held quiet", i.State+" "+i.Barrier)
	require.Regexp(t, "^no change until ", i.Lifts)
	require.Equal(t, "data\n", m.bytesOf(i))
}

// TestNonzeroExitPublish: a writer that ends with a failure is trusted; one that is killed is not.
func TestNonzeroExitPublish(t *testing.T) {
	m := ruled(t, "nonzero-exit=publish")
	require.Equal(t, 3, m.Run("cd in; %s exit 3", unclosed).Code)
	require.Equal(t, "f\n5\n12345", m.Run("%s", lookIn).Out)
	require.Equal(t, 137, m.Run("cd in; rm f; %s kill -9 $$", unclosed).Code)
	require.Empty(t, m.Run("%s", lookIn).Out)
	require.Equal(t, "quarantined", m.item("in/f").State)
}

// TestI2_ARuleBindsItsFolderOnly: other folders of the same mount are as they were.
func TestI2_ARuleBindsItsFolderOnly(t *testing.T) {
	m := ruled(t, "nonzero-exit=publish")
	require.Equal(t, 3, m.Run("%s exit 3", unclosed).Code)
	require.Equal(t, []string{"in"}, m.List("."))
	require.Equal(t, "quarantined", m.item("f").State)
}

// What publish=exit waits for is how the writer ends. If that was while nothing was mounted nobody knows it, and that the
// script which had run the writer ends well says nothing of it.
func TestI1_PublishExitTakesNoHeirsEndForTheWriters(t *testing.T) {
	for unknown, listed := range map[string][]string{"publish": {"f"}, "quarantine": {}} {
		t.Run(unknown, func(t *testing.T) {
			m := mount(t, "--rule", "in/**=queue,publish=exit", "--unknown-exit", unknown)
			m.Must("mkdir in")
			marks := scratch(t)
			p := m.Start(`python3 -c 'import os; f = open("in/f", "w"); f.write("data"); f.close(); input(); os.kill(os.getpid(), 9)'; : > %s/killed; read -r`, marks)
			m.Until("it is closed", func() bool { return m.State("in/f") == "held" })
			m.crash()
			p.Say()
			m.untilMarked(marks, 1)
			m.start()
			require.ElementsMatch(t, listed, m.List("in"), "at once")
			p.Say()
			p.Wait()
			require.ElementsMatch(t, listed, m.List("in"), "when the script has ended")
			if unknown == "quarantine" {
				require.Equal(t, "its writer ended, nobody knows how: nothing was mounted then", m.item("in/f").Reason)
			}
		})
	}
}
