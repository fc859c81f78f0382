package tests

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// lockLaw is the table of docs/protocol.md: what a stranger's call answers, by call and column.
func lockLaw(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| call | on X, of class queue, work, shared |")
	require.True(t, found)
	law := map[string][]string{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") && len(law) > 0 {
			break
		}
		if cells := strings.Split(strings.Trim(line, "|\n "), " | "); len(cells) == 6 && strings.HasPrefix(line, "| ") {
			law[cells[0]] = cells[1:]
		}
	}
	require.Len(t, law, len(lawCalls))
	return law
}

// lawColumns are the columns: where X is, and what the holder locks.
var lawColumns = []struct {
	folders []string
	on      string // what is locked, beside X
	locks   []string
}{
	{[]string{"in", "work", "state"}, "", []string{"flock l ex", "flock l sh", "lock l posix w 0 0", "lock l ofd w 5 1"}},
	{[]string{"lk"}, "", []string{"flock l ex", "flock l sh", "lock l posix w 0 0", "lock l posix r 3 1", "lock l ofd w 5 1"}},
	{[]string{"logs", "done", "plain"}, "", []string{"flock l ex", "lock l posix w 0 0"}},
	{[]string{"in", "work", "state"}, ".lock", []string{"flock l ex", "lock l posix w 0 0", "lock l ofd w 5 1"}},
	{[]string{"in", "work", "state"}, ".lock", []string{"flock l sh", "lock l posix r 0 0", "lock l ofd r 5 1"}},
}

// lawCalls are the rows: what the stranger does before the lock is taken, and then. X stands for the file. A last word "<"
// is a call that gives the result; a call that waits is left waiting.
var lawCalls = map[string]struct {
	before []string
	call   string
}{
	"open to read":                      {nil, "open f X r"},
	"open to write":                     {nil, "open f X wa"},
	"open with `O_TRUNC`":               {nil, "open f X wct"},
	"the same with `O_NONBLOCK`":        {nil, "open f X wctn"},
	"write, by an earlier open":         {[]string{"open f X wa"}, "write f new"},
	"`ftruncate`, by an earlier open":   {[]string{"open f X wa"}, "ftruncate f 1"},
	"close, of what was written before": {[]string{"open f X wa", "write f new"}, "close f"},
	"`truncate`":                        {nil, "truncate X 1"},
	"rename over it":                    {[]string{"open f X.tmp wc", "write f new", "close f"}, "rename X.tmp X"},
	"rename it away":                    {nil, "rename X X.away"},
	"`unlink`":                          {nil, "unlink X"},
	"`link` over it":                    {[]string{"open f X.tmp wc", "close f"}, "link X.tmp X"},
	"stat, listing, `chmod`":            {nil, "stat X"},
	"exclusive lock on X, not waiting":  {[]string{"open f X wa"}, "EX f"},
	"exclusive lock on X, waiting":      {[]string{"open f X wa"}, "EXWAIT f"},
}

// TestI3_TheLawOfLocks plays the table of docs/protocol.md, cell by cell, with each kind of lock and in each class.
func TestI3_TheLawOfLocks(t *testing.T) {
	law := lockLaw(t)
	m := mount(t, "--rule", "state/**=shared", "--rule", "lk/**=lock", "--rule", "work/**=work", "--rule", "done/**=archive",
		"--rule", "plain/**=plain", "--rule", "logs/**=log")
	m.Must("mkdir in work state lk done plain logs")
	p := &lawPlay{Mount: m, holder: m.Client(), stranger: m.Client()}
	for call, cells := range law {
		for column, cell := range cells {
			for _, folder := range lawColumns[column].folders {
				for _, lock := range lawColumns[column].locks {
					p.number++
					file := fmt.Sprintf("%s/f%d", folder, p.number)
					require.Equal(t, strings.Trim(cell, "`"), p.cell(call, file, lock, column), "%s of %s, with %q in column %d", call, file, lock, column)
				}
			}
		}
	}
	require.Equal(t, 615, p.number, "cells, each with all classes and kinds of locks")
}

// lawPlay is who plays the table.
type lawPlay struct {
	*Mount
	holder, stranger *Client
	number           int
}

// cell is what a call answers while somebody else has the lock.
func (p *lawPlay) cell(call, file, lock string, column int) string {
	p.t.Helper()
	on, play := lawColumns[column].on, lawCalls[call]
	p.holder.OK("open x "+file+" wc", "write x old", "close x", "open l "+file+on+" "+lawOpen(on, lock))
	for _, line := range play.before {
		p.stranger.OK(strings.ReplaceAll(line, "X", file))
	}
	p.holder.OK(lock)
	answer := p.answer(lawWords(play.call, file, lock, column), file)
	p.holder.OK("close l")
	if answer == "waits" {
		require.Empty(p.t, p.stranger.End(), "it has waited for that")
	}
	p.stranger.Call("close", "f")
	return answer
}

// lawOpen are the flags the holder opens what it locks with: in a queue nobody may read what others are to find.
func lawOpen(on, lock string) string {
	if on == "" && !strings.Contains(lock, " r ") {
		return "wa"
	}
	return "rwc"
}

// lawWords is a call with the file's name. A request for a lock is of the other kind than the holder's; where those do not
// see each other (column 2), of the same.
func lawWords(call, file, lock string, column int) string {
	requests := map[string]map[bool]string{"EX f": {true: "flock f exnb", false: "lock f posix w 0 0"}, "EXWAIT f": {true: "flock f ex", false: "lock f posix W 0 0"}}
	if r := requests[call]; r != nil {
		return r[strings.HasPrefix(lock, "flock") == (column == 2)]
	}
	return strings.ReplaceAll(call, "X", file)
}

func (p *lawPlay) answer(call, file string) string {
	p.t.Helper()
	var words []any
	for _, w := range strings.Fields(call) {
		words = append(words, w)
	}
	p.stranger.Begin(words...)
	if !p.stranger.soon() {
		waits := false
		p.Until("it ends or waits", func() bool { waits = p.waits(p.stranger); return waits || !p.stranger.Blocked() })
		if waits {
			return "waits"
		}
	}
	answer := p.stranger.End()
	switch {
	case words[0] == "stat" && answer == "3 bytes, 1 links":
		p.Must("ls -l %[1]s && chmod 600 %[1]s", file)
		return "allowed"
	case answer != "":
		return answer
	case words[0] == "close" && p.State(file) == "held":
		require.Equal(p.t, "locked", p.Item(file).Barrier)
		return "kept back"
	case strings.Contains(call, " wct") && p.sizeBelow(file) == 3:
		return "put off"
	}
	return "allowed"
}

// soon tells whether the client's call ends before one would look whether it waits.
func (c *Client) soon() bool {
	select {
	case a := <-c.answers:
		c.answers <- a
		return true
	case <-time.After(5 * time.Millisecond):
		return false
	}
}

// waits tells whether what the client asked for is waited for.
func (m *Mount) waits(c *Client) bool {
	return slices.ContainsFunc(m.Locks(), func(l report.Lock) bool { return l.Blocked && l.PID == c.PID() })
}

func (m *Mount) sizeBelow(file string) int64 {
	info, err := os.Stat(m.Below(file))
	if err != nil {
		return -1
	}
	return info.Size()
}
