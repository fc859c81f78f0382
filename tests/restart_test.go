package tests

import (
	"fmt"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fate is what a restart makes of an item.
type fate struct {
	state    string // in status; "published": it is in no status, and everybody sees it
	content  string
	attempts int
	owned    bool // by a process that lives
}

// fates are those of all items that unsettled leaves behind, by path, oldest first.
var fates = map[string][]fate{
	"open":        {{state: "quarantined", content: "half"}},
	"open.tmp":    {{state: "abandoned", content: "half"}},
	"open.part":   {{state: "abandoned", content: "half"}},
	"kept.tmp":    {{state: "staged", content: "whole", owned: true}},
	"parked.tmp":  {{state: "parked", content: "whole"}},
	"lost.tmp":    {{state: "abandoned", content: "half"}},
	"orphan.tmp":  {{state: "parked", content: "whole"}},
	"mine":        {{state: "claimed", content: "whole", owned: true}},
	"moved.tmp":   {{state: "claimed", content: "whole", owned: true}},
	"dead":        {{state: "published", content: "whole"}},
	"dead.moving": {{state: "published", content: "whole"}},
	"failed":      {{state: "quarantined", content: "half"}},
	"tried":       {{state: "published", content: "whole", attempts: 1}},
	"twice":       {{state: "held", content: "older", attempts: 1}, {state: "published", content: "newer"}},
	"linked":      {{state: "published", content: "whole"}},
	"linked.also": {{state: "published", content: "whole"}},
	"empty":       {{state: "published"}},
	"sub/f":       {{state: "published", content: "whole"}},
	"sub/open":    {{state: "quarantined", content: "half"}},
}

// unsettled brings a mount into a state that has one of each, kills its daemon, and only then the processes that die
// unseen. It returns the owner that lives.
func unsettled(m *Mount) (living *Client) {
	m.Must(`mkdir sub; : > empty; for f in mine moved dead tried linked sub/f; do printf whole > $f; done; printf whole > dead.moving
		ln linked linked.also; printf older > twice; printf whole > parked.tmp`)
	living = m.Client()
	living.OK("open o open wct", "write o half", "open s sub/open wct", "write s half", "open t open.tmp wct", "write t half",
		"open p open.part wct", "write p half", "open k kept.tmp wct", "write k whole", "close k", "open m mine r", "rename moved moved.tmp")
	dead, failed, orphan := m.Client(), m.Client(), m.Client()
	dead.OK("open d dead r", "open w lost.tmp wct", "write w half", "open l linked r", "open s sub/f r")
	dead.OK("rename dead.moving dead.moved.tmp")
	failed.OK("open f failed wct", "write f half", "open t tried r")
	failed.Kill()
	orphan.OK("open o orphan.tmp wct", "write o whole", "close o")
	older := m.Client()
	older.OK("open o twice r")
	m.Must("printf newer > twice")
	older.Kill()
	m.Until("the killed ones are noticed", func() bool {
		return m.State("twice") == "held" && m.State("failed") == "quarantined" && m.State("tried") == ""
	})
	m.crash()
	dead.Kill()
	orphan.Kill()
	return living
}

// checkFates compares everything with the table.
func checkFates(t *testing.T, m *Mount) {
	t.Helper()
	look, status := m.Client(), m.Status()
	for path, all := range fates {
		hidden := 0
		for _, f := range all {
			found := fate{state: "published"}
			if f.state == "published" {
				require.Equal(t, "0", m.Must("test -e %s; echo $?", path), path)
				found.content = content(t, m.Below(path))
				found.attempts, _ = strconv.Atoi(look.Call("xattr", path, "user.airlockfs.attempts"))
			} else {
				require.Greater(t, len(status[path]), hidden, "%s is lost", path)
				i := status[path][hidden]
				found = fate{i.State, content(t, m.Below(i.Bytes)), i.Attempts, i.Owner != nil}
				hidden++
			}
			require.Equal(t, f, found, path)
		}
		require.Len(t, status[path], hidden, path)
		delete(status, path)
	}
	require.Empty(t, status, "nothing comes from nowhere")
	require.Equal(t, visible(), m.Must("find . -mindepth 1 -type f | LC_ALL=C sort"))
}

// visible are the names that everybody sees, according to the table.
func visible() string {
	var names []string
	for path, all := range fates {
		if all[len(all)-1].state == "published" {
			names = append(names, "./"+path)
		}
	}
	sort.Strings(names)
	return strings.Join(names, "\n")
}

// checkOwner: the owner that lived on still has what was its own, and nobody else has it.
func checkOwner(t *testing.T, m *Mount, living *Client) {
	t.Helper()
	require.Equal(t, "ENOTCONN", living.Call("read", "m"), "descriptors do not survive their daemon")
	stranger := m.Client()
	for _, name := range []string{"mine", "moved.tmp", "kept.tmp"} {
		require.Equal(t, "ENOENT", stranger.Call("open", "r", name, "r"))
		require.Equal(t, "ENOENT", stranger.Call("unlink", name))
	}
	living.OK("chdir "+m.Dir, "open again mine r")
	require.Equal(t, "whole", living.Call("read", "again"))
	living.OK("close again", "unlink mine", "rename kept.tmp kept", "rename moved.tmp moved")
	require.Equal(t, "wholewhole", m.Must("cat kept moved"))
	require.Equal(t, "newer\nolder", m.Must("cat twice; rm twice; echo; cat twice"), "each in its turn")
	living.OK("chdir /")
}

func TestI4_RestartLeavesEachItemInItsOneState(t *testing.T) {
	m := mount(t)
	living := unsettled(m)
	m.start()
	checkFates(t, m)
	checkOwner(t, m, living)
}

// TestI3_AClaimWhoseOwnerEndsUnseenGoesToItsHeir: the program of a script ends while there is no daemon, and so does what
// the script ran it by.
func TestI3_AClaimWhoseOwnerEndsUnseenGoesToItsHeir(t *testing.T) {
	for name, by := range map[string]string{"run by the script": "", "run by timeout": "timeout 60 "} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.Must("echo text > f")
			p := m.Start(by + `bash -c "exec 3<f; read -r; exit 0"; read -r; cd /; cd "$M"; rm f; echo $?`)
			m.Until("the program has claimed it", func() bool { return m.State("f") == "claimed" })
			m.crash()
			p.Say()
			m.Until("the program has ended", func() bool { return m.children(p.PID()) == "" })
			m.start()
			require.Equal(t, p.PID(), m.item("f").Owner.PID)
			require.NotZero(t, m.Run("cat f").Code)
			p.Say()
			require.Equal(t, result{Out: "0\n"}, p.Wait())
		})
	}
}

func TestI4_CopyOfTheBackingIsTheSame(t *testing.T) {
	m := mount(t)
	living := unsettled(m)
	moved := &Mount{t: t, Backing: scratch(t), Dir: scratch(t)}
	out, err := exec.Command("cp", "-a", m.Backing+"/.", moved.Backing).CombinedOutput()
	require.NoError(t, err, "%s", out)
	moved.start()
	t.Cleanup(moved.end)
	checkFates(t, moved)
	checkOwner(t, moved, living)
	m.start()
	checkFates(t, m)
}

func TestI4_SecondRestartChangesNothing(t *testing.T) {
	m := mount(t)
	living := unsettled(m)
	m.start()
	m.crash()
	m.start()
	m.stop()
	m.start()
	checkFates(t, m)
	checkOwner(t, m, living)
}

func TestI3_OneMountOfABacking(t *testing.T) {
	m := mount(t)
	dir := scratch(t)
	out, err := exec.Command("timeout", "-s", "KILL", "20", binary, "mount", "-f", m.Backing, dir).CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.True(t, exit.Exited(), "it gives up by itself")
	require.Contains(t, string(out), m.Backing)
	require.False(t, mounted(dir))
}

// The kernel does not wait for the answer to RELEASE: an unmount right after close(2) may find it still on its way.
func TestI4_UnmountRightAfterCloseKeepsWhatWasDelivered(t *testing.T) {
	m := mount(t)
	script := `$m = $ENV{M}; chdir "/"; for (1 .. 8) { open(F, ">", "$m/%[1]d-$_") or die; syswrite(F, "x") or die; close(F) or die }
		exec "umount", $m`
	for n := range 10 {
		m.Must(`exec perl -e '%s'`, fmt.Sprintf(script, n))
		m.waitEnd()
		m.start()
		require.Len(t, m.List("."), 8*(n+1))
	}
	require.Empty(t, m.Status())
}

// TestI4_WhatNobodyOpenedForWritingHereStays: only what an open began, and that open never returned, is dropped when its
// owner ends. What this daemon has never seen open for writing is as whole as any other.
func TestI4_WhatNobodyOpenedForWritingHereStays(t *testing.T) {
	m := mount(t, "--rule", "old/**=plain")
	m.Must("mkdir old; printf moved > old/f; printf parked > parked.tmp")
	owner := m.Client()
	owner.OK("open o owned.tmp wct", "write o owned", "close o", "open k killed.tmp wct", "write k killed", "close k")
	m.Until("it is parked", func() bool { return m.State("parked.tmp") == "parked" })
	m.crash()
	m.start()

	m.Must("mv old/f moved.tmp")
	require.Equal(t, "parked", m.Must("cat parked.tmp"))
	owner.OK("chdir " + m.Dir)
	killed := m.Client()
	killed.OK("rename parked.tmp other.tmp")
	killed.Kill()
	owner.Kill()
	m.Until("all are let go", func() bool { return len(m.held()) == 0 })
	require.Equal(t, map[string]string{"moved.tmp": "moved", "owned.tmp": "owned", "killed.tmp": "killed", "other.tmp": "parked"}, m.hiddenBytes())
}

// hiddenBytes are the bytes of all items that are not public, by path.
func (m *Mount) hiddenBytes() map[string]string {
	m.t.Helper()
	all := map[string]string{}
	for path := range m.Status() {
		all[path] = m.bytesOf(m.item(path))
	}
	return all
}
