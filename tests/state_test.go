package tests

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// state is a mount with a state folder, in which the file f says "one".
func state(t *testing.T, more ...string) *Mount {
	t.Helper()
	m := mount(t, append([]string{"--rule", "state/**=shared", "--keep-replaced", "0"}, more...)...)
	m.Must("mkdir state; echo one > state/f; echo other > q")
	return m
}

// reads has a client read a state file, as its whole job.
func (c *Client) reads(name string) string {
	c.t.Helper()
	c.OK("open r " + name + " r")
	text := c.Call("read", "r")
	c.OK("close r")
	return text
}

// staleSaves are the calls by which a job would write over, or take away, a version that it has not read: what it does
// before, the call, and what it does to make it succeed by reading.
var staleSaves = map[string]struct{ before, call string }{
	"O_TRUNC":             {"", "open w state/f wct"},
	"O_TRUNC and read":    {"", "open w state/f rwct"},
	"truncate":            {"", "truncate state/f 2"},
	"truncate to nothing": {"", "truncate state/f 0"},
	"rename a temp over":  {"open w state/f.tmp wct;write w three;close w", "rename state/f.tmp state/f"},
	"rename an open one":  {"open w state/f.tmp wct;write w three", "rename state/f.tmp state/f"},
	"rename a state file": {"open w state/g wct;write w three;close w", "rename state/g state/f"},
	"rename from a queue": {"open r q r;close r", "rename q state/f"},
	"unlink":              {"", "unlink state/f"},
	"rename away":         {"", "rename state/f state/h"},
	"into a queue":        {"", "rename state/f h"},
	"exchange":            {"open w state/g wct;write w three;close w", "exchange state/f state/g"},
	"exchange from there": {"open w state/g wct;write w three;close w", "exchange state/g state/f"},
}

// TestI6_WhoHasReadAnEarlierVersionIsRefused: each call that would undo what somebody else saved meanwhile answers EBUSY, as
// often as it is tried, until the file is read again. The event says whom and what it met.
func TestI6_WhoHasReadAnEarlierVersionIsRefused(t *testing.T) {
	for name, c := range staleSaves {
		t.Run(name, func(t *testing.T) {
			m := state(t)
			me, him := m.Client(), m.Client()
			require.Equal(t, "one\n", me.reads("state/f"))
			for _, call := range strings.Split(c.before, ";") {
				if call != "" {
					me.OK(call)
				}
			}
			him.reads("state/f")
			him.OK("open w state/f wct", "write w two", "close w")
			for range 2 {
				require.Equal(t, "EBUSY", me.Call(inWords(c.call)...))
			}
			require.Equal(t, "two", m.Must("cat state/f"))
			says := regexp.MustCompile(fmt.Sprintf(`changed since it was read: met the version \d+ of pid %d .*; read it again`, him.PID()))
			refused := m.refused(me.PID())
			require.NotEmpty(t, refused)
			require.Regexp(t, says, refused[len(refused)-1].Detail)
			require.Equal(t, "two", me.reads("state/f"))
			require.Empty(t, me.Call(inWords(c.call)...))
		})
	}
}

func inWords(call string) []any {
	var all []any
	for _, w := range strings.Fields(call) {
		all = append(all, w)
	}
	return all
}

// TestI6_OneOfTwoSavesIsRefused: both have read the same version.
func TestI6_OneOfTwoSavesIsRefused(t *testing.T) {
	m := state(t)
	a, b := m.Client(), m.Client()
	a.reads("state/f")
	b.reads("state/f")
	a.OK("open w state/f wct", "write w two")
	require.Equal(t, "EBUSY", b.Call(inWords("open w state/f wct")...), "one writes at a time")
	require.Equal(t, "EBUSY", b.Call(inWords("open w state/f wa")...))
	b.OK("open w state/f.tmp wct", "write w three", "close w")
	require.Equal(t, "EBUSY", b.Call(inWords("rename state/f.tmp state/f")...))
	require.Equal(t, "one\n", m.Must("cat state/f; echo"), "readers have the version that is whole")
	a.OK("close w")
	require.Equal(t, "EBUSY", b.Call(inWords("rename state/f.tmp state/f")...))
	require.Equal(t, "two", b.reads("state/f"))
	b.OK("rename state/f.tmp state/f")
	require.Equal(t, "EBUSY", a.Call(inWords("open w state/f wct")...), "a knows what it wrote, not what came after")
	a.reads("state/f")
	a.OK("open w state/f wct", "write w four", "close w", "open w state/f wct", "write w five", "close w")
	require.Equal(t, "five", m.Must("cat state/f"))
}

// TestI6_AppendingIsNeverStale: who appends takes what is there; nothing that others appended is lost.
func TestI6_AppendingIsNeverStale(t *testing.T) {
	m := state(t)
	a, b := m.Client(), m.Client()
	a.reads("state/f")
	b.OK("open w state/f wa", "write w two", "close w", "open w state/f rw", "close w")
	a.OK("open w state/f wa", "write w three", "close w")
	require.Equal(t, "one\ntwothree", m.Must("cat state/f"))
	require.Equal(t, "EBUSY", a.Call(inWords("open w state/f wct")...), "it has not read what b added")
	a.OK("open w state/f rw", "write w ONE", "close w", "open w state/f wct", "write w four", "close w")
	require.Equal(t, "four", m.Must("cat state/f"))
	a.OK("open w state/f wa")
	b.reads("state/f")
	b.OK("open w state/f wct", "write w five", "close w")
	require.Equal(t, "EBUSY", a.Call("write", "w", "six"), "what it was to be added to is gone")
	refused := m.refused(a.PID())
	require.Regexp(t, fmt.Sprintf(`write: busy: met the version \d+ of pid %d .*; open it again`, b.PID()), refused[len(refused)-1].Detail)
	a.OK("close w")
	require.Equal(t, "five", m.Must("cat state/f"))
}

// TestI6_WhoFoundNoneDoesNotWriteOverWhatCame: `[ -e f ] || make f`.
func TestI6_WhoFoundNoneDoesNotWriteOverWhatCame(t *testing.T) {
	m := state(t)
	me, him := m.Client(), m.Client()
	require.Equal(t, "ENOENT", me.Call("stat", "state/new"))
	him.OK("open w state/new wct", "write w his", "close w")
	require.Equal(t, "3 bytes, 1 links", me.Call("stat", "state/new"), "a look is no reading")
	require.Equal(t, "EBUSY", me.Call(inWords("open w state/new wct")...))
	me.OK("open w state/new.tmp wct", "write w mine", "close w")
	require.Equal(t, "EBUSY", me.Call(inWords("rename state/new.tmp state/new")...))
	require.Equal(t, "his", m.Must("cat state/new"))
	me.OK("unlink state/new")
	him.OK("open w state/new wct", "write w again", "close w")
	require.Equal(t, "EBUSY", me.Call(inWords("rename state/new.tmp state/new")...), "it has removed it, and knows of none")
	require.Equal(t, "again", me.reads("state/new"))
	me.OK("rename state/new.tmp state/new")
}

// TestI6_WhatIsRemovedIsInNobodysWay: a job may write again what a stranger has removed, but not over what he put there.
func TestI6_WhatIsRemovedIsInNobodysWay(t *testing.T) {
	m := state(t)
	me, him := m.Client(), m.Client()
	me.reads("state/f")
	him.OK("unlink state/f")
	me.OK("open w state/f wct", "write w two", "close w")
	require.Equal(t, "two", m.Must("cat state/f"))
	him.OK("unlink state/f", "open w state/f wct", "write w three", "close w")
	require.Equal(t, "EBUSY", me.Call(inWords("open w state/f wct")...))
	require.Equal(t, "three", m.Must("cat state/f"))
}

// TestI6_WhoHasReadNothingIsLetThrough: blind writers replace each other, in turn and for as long as they like.
func TestI6_WhoHasReadNothingIsLetThrough(t *testing.T) {
	m := state(t)
	a, b := m.Client(), m.Client()
	for n := range 3 {
		for _, c := range []*Client{a, b} {
			c.OK("open w state/beat wct", fmt.Sprintf("write w %d", n), "close w")
			c.OK("open w state/beat.tmp wct", "write w x", "close w", "rename state/beat.tmp state/beat")
		}
	}
	b.OK("truncate state/beat 0", "unlink state/beat")
	a.OK("open w state/beat wct", "close w")
}

// TestI6_ARestartForgetsWhatJobsHaveRead: the versions stay; who has read one before is a blind writer after it.
func TestI6_ARestartForgetsWhatJobsHaveRead(t *testing.T) {
	m := state(t)
	job := m.Start(`cd /; cat $M/state/f; read; echo three > $M/state/f`)
	m.Until("it has read", func() bool { return job.out.String() == "one\n" })
	m.Must("echo two > state/f; cat state/f")
	m.stop()
	m.start()
	require.Equal(t, "two", m.Must("cat state/f"))
	job.Say()
	require.Zero(t, job.Wait().Code)
	require.Equal(t, "three", m.Must("cat state/f"))
}

// TestI6_AVersionReplacedOutsideIsNoticed: a close that comes too late answers EIO, and what was written is kept.
func TestI6_AVersionReplacedOutsideIsNoticed(t *testing.T) {
	m := state(t)
	me := m.Client()
	me.reads("state/f")
	me.OK("open w state/f wct", "write w mine")
	m.outside("echo theirs > g; mv g state/f")
	require.Equal(t, "EIO", me.Call("close", "w"))
	require.Equal(t, "theirs", m.Must("cat state/f"))
	i := m.item("state/f")
	require.Equal(t, "quarantined", i.State)
	require.Contains(t, i.Reason, "came between")
	require.Equal(t, "mine", content(t, m.Below(i.Bytes)))
	require.Equal(t, "EBUSY", me.Call(inWords("open w state/f wct")...))
}

// TestI6_TheOldVersionLivesOn: who has it open or mapped keeps it, and so does a second name, whatever that is called.
func TestI6_TheOldVersionLivesOn(t *testing.T) {
	m := state(t)
	m.Must("head -c 100000 /dev/zero > state/idx; ln state/idx state/idx~; ln state/idx state/idx.tmp")
	reader := m.Start(`exec python3 -c '
import mmap, sys
o = open("state/idx", "rb")
m = mmap.mmap(o.fileno(), 0, prot=mmap.PROT_READ)
print("mapped", flush=True)
sys.stdin.readline()
print(m[99999], len(o.read()))'`)
	m.Until("it is mapped", func() bool { return strings.Contains(reader.out.String(), "mapped") })
	m.Must("echo small > state/idx")
	require.Equal(t, "idx idx.tmp idx~", strings.Join(m.List("state"), " ")[2:], "f, and the names of both versions")
	require.Equal(t, "6 100000 100000", m.Must("cd state; echo $(wc -c < idx) $(wc -c < idx~) $(wc -c < idx.tmp)"))
	reader.Say()
	require.Equal(t, result{Out: "mapped\n0 100000\n"}, reader.Wait())
	m.stop()
	m.start()
	require.Equal(t, []string{"f", "idx", "idx.tmp", "idx~"}, m.List("state"))
	require.Equal(t, "100000", m.Must("mv state/idx.tmp state/new.tmp; rm state/idx~; wc -c < state/new.tmp"))
	m.stop()
	m.start()
	require.Equal(t, "f idx new.tmp", m.Must("echo $(ls state)"))
}

// TestI6_ARotatedLogGetsItsLastLines: a log that is moved is a state file once nobody writes to it any more.
func TestI6_ARotatedLogGetsItsLastLines(t *testing.T) {
	m := state(t)
	c := m.Client()
	c.OK("open l state/app.log wca", "write l 1", "rename state/app.log state/app.1", "write l 2")
	require.Equal(t, "12", m.Must("cat state/app.1"))
	m.Must("echo 3 >> state/app.1")
	c.OK("write l 4")
	require.Equal(t, "123\n4", m.Must("cat state/app.1"))
	require.Equal(t, "log", m.Must("getfattr -n user.airlockfs.class --only-values state/app.1"))
	c.OK("close l")
	m.Until("it is a state file", func() bool { return m.Must("getfattr -n user.airlockfs.class --only-values state/app.1") == "shared" })
	c.OK("open r state/app.1 r")
	m.Must("echo new > state/app.1")
	require.Equal(t, "123\n4", c.Call("read", "r"))
}

// TestI6_StateFilesAreEverywhereInTheTree: the check is about names, and goes with a folder that is renamed.
func TestI6_StateFilesAreEverywhereInTheTree(t *testing.T) {
	m := state(t)
	m.Must("mkdir -p state/a/b; echo one > state/a/b/f")
	me := m.Client()
	me.reads("state/a/b/f")
	m.Must("mv state/a state/z; echo two > state/z/b/f")
	require.Equal(t, "EBUSY", me.Call(inWords("open w state/z/b/f wct")...))
	m.Must("rm -r state/z; mkdir -p state/z/b; echo three > state/z/b/f")
	me.OK("open w state/z/b/f wct", "close w")
	require.Equal(t, "f", filepath.Base(m.Must("find state/z -type f")))
}
