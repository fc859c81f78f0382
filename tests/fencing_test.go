package tests

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// formerCalls are the calls in docs/leases.md, by what has to be there for them: F is the item, OTHER a file of the caller's
// own, D a descriptor of the claim.
var formerCalls = map[string]map[string]string{
	"reading": {"read": "read D", "seekdata": "seekdata D", "fsync": "fsync D", "flock": "flock D ex", "lock": "lock D posix r 0 1",
		"reopen": "reopen D r", "relink": "relink D F.linked", "fchmod": "fchmod D", "futimens": "futimens D", "fstat": "fstat D",
		"fsetxattr": "fsetxattr D user.x y", "fgetxattr": "fgetxattr D user.airlockfs.state", "load": "load D"},
	"writing": {"wread": "read D", "wwrite": "write D x", "wftruncate": "ftruncate D 0", "wfallocate": "fallocate D 99",
		"wfsync": "fsync D", "wfchmod": "fchmod D", "wclose": "close D"},
	"by path": {"unlink": "unlink F", "rename": "rename F F.moved", "truncate": "truncate F 0", "rename-onto": "rename OTHER F",
		"exchange": "exchange OTHER F", "writing": "open x F w", "appending": "open x F wa", "truncating": "open x F wt",
		"both": "open x F rw", "stat": "stat F", "chmod": "chmod F", "utimes": "utimes F", "setxattr": "setxattr F user.x y",
		"reading": "open x F r", "exec": "exec F"},
}

// answers are words of the tables that are no errno.
var answers = map[string]string{"done": "", "a new item": "", "what it was": "4 bytes, 1 links"}

// formerCase is a cell of the tables: a call, what has become of the item, and the answer.
type formerCase struct{ kind, call, now, want, item string }

// formerCases reads the tables of docs/leases.md. What a row says is said of each call in its first cell.
func formerCases(t *testing.T) (all []formerCase) {
	t.Helper()
	text, err := os.ReadFile("../docs/leases.md")
	require.NoError(t, err)
	var columns []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		if cells[0] == "call" {
			columns = cells
		}
		if len(cells) != len(columns) {
			continue
		}
		for _, call := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[0], -1) {
			for n, want := range cells[1:] {
				all = append(all, formerCase{kindOfCall(t, call[1], len(columns)), call[1], columns[n+1], strings.Trim(want, "`"), fmt.Sprintf("f%d", len(all))})
			}
		}
	}
	return all
}

func kindOfCall(t *testing.T, call string, columns int) string {
	for kind, calls := range formerCalls {
		if calls[call] != "" && (kind == "by path") == (columns > 2) {
			return kind
		}
	}
	require.Fail(t, "docs/leases.md has a call that is not tried", call)
	return ""
}

func TestI5_WhatAFormerClaimantCanDo(t *testing.T) {
	all := formerCases(t)
	require.Len(t, all, 20+5*15, "docs/leases.md leaves out calls")
	for _, end := range []string{"release", "linger", "kill"} {
		t.Run(end, func(t *testing.T) {
			m := mount(t, map[string][]string{"linger": {"--linger", "500ms"}}[end]...)
			x := &fencing{Mount: m, t: t, worker: m.Client(), next: m.Client(), root: m.Client()}
			for _, c := range all {
				if c.kind == "by path" || end != "linger" {
					x.cases = append(x.cases, c)
				}
			}
			x.deliver(end == "kill")
			for _, c := range x.cases {
				x.claim(c, end != "linger")
			}
			x.end(end)
			for _, c := range x.cases {
				x.try(c)
			}
		})
	}
}

// fencing is a mount with a claimant whose claims are taken away.
type fencing struct {
	*Mount
	t                  *testing.T
	worker, next, root *Client
	cases              []formerCase
}

// deliver makes the items. byParent: the worker's parent has claimed them.
func (x *fencing) deliver(byParent bool) {
	x.t.Helper()
	for _, c := range x.cases {
		x.next.OK("open o "+c.item+" wct", "write o text", "close o", "chmod "+c.item)
		if byParent {
			x.worker.OK("open " + c.item + " " + c.item + " r")
		}
	}
	if byParent {
		x.worker.OK("child")
	}
}

// claim has the worker make its other file, and open the item.
func (x *fencing) claim(c formerCase, open bool) {
	x.t.Helper()
	x.worker.OK("open o "+c.item+".other wct", "write o more", "close o")
	x.worker.OK("open " + c.item + " " + c.item + map[bool]string{true: " rw", false: " r"}[c.kind == "writing"])
	switch {
	case !open:
		x.worker.OK("close " + c.item)
	case c.kind == "writing":
		x.worker.OK("write " + c.item + " written")
	default:
		x.worker.OK("map " + c.item)
		require.Equal(x.t, "text", x.worker.Call("load", c.item))
	}
}

// end takes all claims away.
func (x *fencing) end(how string) {
	x.t.Helper()
	switch how {
	case "kill":
		require.NoError(x.t, x.worker.cmd.Process.Kill())
	case "release":
		for _, c := range x.cases {
			x.release(c.item)
		}
	}
	x.Until("all are back", func() bool { return x.claimed() == 0 })
}

func (x *fencing) release(item string) {
	x.t.Helper()
	require.Contains(x.t, x.root.Call("order", fmt.Sprintf(`{"do":"release","path":%q}`, item)), `"done":true`)
}

// try has the rest of a case happen, makes the call, and looks whether the item is as it was.
func (x *fencing) try(c formerCase) {
	x.t.Helper()
	switch c.now {
	case "with another", "back from another", "settled by another":
		x.next.OK("open n "+c.item+" r", "open n2 "+c.item+" r")
	}
	switch c.now {
	case "back from another":
		x.next.OK("close n", "close n2")
		x.release(c.item)
	case "settled by another":
		x.next.OK("unlink " + c.item)
	case "replaced":
		x.root.OK("open o "+c.item+" wct", "write o newer", "close o")
	}
	want, known := answers[c.want]
	if !known {
		want = c.want
	}
	call := strings.NewReplacer("D", c.item, "OTHER", c.item+".other", "F", c.item).Replace(formerCalls[c.kind][c.call])
	got := x.worker.Call(callWords(call)...)
	if c.call == "stat" && want == "" {
		want = x.root.Call("stat", c.item)
	}
	require.Equal(x.t, want, got, "%s, %s", c.call, c.now)
	x.untouched(c)
}

// untouched: whoever has the item now, or takes it now, finds it as it was delivered.
func (x *fencing) untouched(c formerCase) {
	x.t.Helper()
	switch c.now {
	case "with another":
		require.Equal(x.t, "text", x.next.Call("read", "n2"))
		return
	case "settled by another":
		return
	}
	if c.call == "reading" { // the worker has claimed it anew
		x.release(c.item)
	}
	text := map[bool]string{true: "newer", false: "text"}[c.now == "replaced"]
	if x.root.Call("stat", c.item); c.call != "setxattr" { // whoever looks finds it back
		require.Equal(x.t, "ENODATA", x.root.Call("xattr", c.item, "user.x"), c.call)
	}
	require.Equal(x.t, text, x.bytesPublic(c.item), "%s, %s", c.call, c.now)
}

// bytesPublic are the bytes that the backing has under a name.
func (m *Mount) bytesPublic(name string) string {
	m.t.Helper()
	b, err := os.ReadFile(m.Below(name))
	require.NoError(m.t, err)
	return string(b)
}
