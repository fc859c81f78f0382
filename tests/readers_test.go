package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	helpers["claim-all"] = claimAll
	helpers["rename-all"] = renameAll
}

// startGun waits for a line: racers start together.
func startGun() { _, _ = os.Stdin.Read(make([]byte, 1)) }

// claimAll is a worker: it opens the items of a folder in order, and prints and removes those it gets.
func claimAll(args []string) int {
	startGun()
	items, err := os.ReadDir(args[0])
	for _, item := range items {
		if err = claimOne(filepath.Join(args[0], item.Name())); err != nil {
			break
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func claimOne(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another one's
	}
	if err != nil {
		return err
	}
	fmt.Print(string(text))
	return os.Remove(path)
}

// renameAll takes items by renaming them: from FOLDER/N to TARGET/N.PID+SUFFIX, for N from 1 to COUNT. It prints the
// numbers it got.
func renameAll(args []string) int {
	count, err := strconv.Atoi(args[2])
	startGun()
	for n := 1; n <= count && err == nil; n++ {
		err = os.Rename(fmt.Sprintf("%s/%d", args[0], n), fmt.Sprintf("%s/%d.%d%s", args[1], n, os.Getpid(), args[3]))
		if err == nil {
			fmt.Println(n)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // another one's
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// untilMarked waits until scripts have left so many marks: files in a folder outside the mount, which say that they are so far.
func (m *Mount) untilMarked(folder string, count int) {
	m.t.Helper()
	m.Until("marks in "+folder, func() bool {
		marks, err := os.ReadDir(folder)
		return err == nil && len(marks) == count
	})
}

// items makes the folder "in" with the items 1 to count, each containing its own name.
func (m *Mount) items(count int) {
	m.t.Helper()
	m.Must(`mkdir in; for i in $(seq %d); do echo $i > in/$i; done`, count)
}

// requireEachOnce requires that the outputs together are the numbers 1 to count, each once.
func requireEachOnce(t *testing.T, count int, outputs ...string) {
	t.Helper()
	var got, want []int
	for _, word := range strings.Fields(strings.Join(outputs, "\n")) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err)
		got = append(got, n)
	}
	for n := 1; n <= count; n++ {
		want = append(want, n)
	}
	slices.Sort(got)
	require.Equal(t, want, got)
}

// race starts so many strangers with the same command and lets them go together.
func (m *Mount) race(racers int, command string) []*Process {
	m.t.Helper()
	started := make([]*Process, racers)
	for n := range started {
		started[n] = m.Start("%s", command)
	}
	for _, p := range started {
		p.Say()
	}
	return started
}

// outputs collects what racers print until they end.
func outputs(t *testing.T, racers []*Process) []string {
	t.Helper()
	out := make([]string, len(racers))
	for n, p := range racers {
		r := p.Wait()
		require.Zero(t, r.Code, r.Out)
		out[n] = r.Out
	}
	return out
}

func TestI3_EachItemGoesToOneOfManyReaders(t *testing.T) {
	for _, c := range []struct{ racers, items int }{{2, 1000}, {8, 1000}, {64, 200}} {
		t.Run(fmt.Sprint(c.racers), func(t *testing.T) {
			m := mount(t)
			m.items(c.items)
			racers := m.race(c.racers, helperCommand("claim-all", "in"))
			requireEachOnce(t, c.items, outputs(t, racers)...)
			require.Empty(t, m.List("in"))
		})
	}
}

// stranger ends the script it is in, with the status readByStranger, if a process of another session can read f, or see it.
const (
	stranger       = `setsid -w cat f && exit 9; setsid -w ls | grep -qx f && exit 9; `
	readByStranger = 9
)

func TestI3_AWorkerKeepsWhatItReadUntilItRemovesIt(t *testing.T) {
	for name, script := range map[string]string{
		"commands":     `wc -l f; ` + stranger + `sort f | tail -1; ` + stranger + `rm f`,
		"timeout":      `timeout 20 wc -l f; ` + stranger + `timeout 20 sort f | tail -1; ` + stranger + `rm f`,
		"broken pipe":  `cat f | head -1; ` + stranger + `rm f`,
		"substitution": `v=$(head -1 f); ` + stranger + `rm f`,
		"subshell":     `(wc -l f; ` + stranger + `); ` + stranger + `rm f`,
		"redirection":  `while read -r line; do :; done < f; ` + stranger + `rm f`,
		"open":         `exec 3< f; ` + stranger + `exec 3<&-; ` + stranger + `rm f`,
		"xargs":        `echo f | xargs wc -l; ` + stranger + `rm f`,
		"find":         `find . -name f -exec wc -l {} \; ; ` + stranger + `rm f`,
		"script":       `sh -c 'wc -l f; true'; ` + stranger + `rm f`,
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.Must(`seq 50000 > f`)
			m.Must("%s", script)
			require.Empty(t, m.List("."))
			require.Empty(t, m.State("f"))
		})
	}
}

// pythonStranger defines readable(): whether a process of another session can read f.
const pythonStranger = `
import os, subprocess, sys, threading
def readable():
    return subprocess.run(["cat", "f"], start_new_session=True, stdout=subprocess.DEVNULL).returncode == 0
`

func TestI3_APythonWorkerKeepsWhatItRead(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	m.Must("python3 -c %s", quote(pythonStranger+`
with open("f") as f:
    assert f.read() == "text\n"
    assert not readable(), "while it is open"
assert not readable(), "after it was closed"
os.unlink("f")
assert not readable(), "after it was removed"
`))
	require.Empty(t, m.List("."))
}

func TestI3_AClaimBelongsToTheProcessNotToItsThread(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	m.Must("python3 -c %s", quote(pythonStranger+`
thread = threading.Thread(target=lambda: open("f").read())
thread.start()
thread.join()
assert not readable(), "after the thread's end"
other = threading.Thread(target=lambda: os.unlink("f"))
other.start()
other.join()
assert not os.path.exists("f"), "another thread settles"
`))
	require.Empty(t, m.List("."))
}

func TestI3_CompetingXargsTakeEachItemOnce(t *testing.T) {
	m := mount(t)
	m.items(60)
	xargs := `ls in | xargs -P4 -n1 sh -c 'v=$(cat in/$0 2>&-) && echo $v && setsid -w test ! -e in/$0 && rm in/$0; true'`
	requireEachOnce(t, 60, outputs(t, m.race(2, "read; "+xargs))...)
	require.Empty(t, m.List("in"))
}

func TestI3_FourCopiesOfAScriptTakeEachItemOnce(t *testing.T) {
	for name, start := range map[string]string{"own sessions": "setsid", "one session": "env"} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.items(60)
			work := `for f in in/*; do v=$(cat $f 2>&-) && echo $v && setsid -w test ! -e $f && rm $f; done; true`
			out := m.Must(`for i in 1 2 3 4; do %s bash -c %s & done; wait`, start, quote(work))
			requireEachOnce(t, 60, out)
			require.Empty(t, m.List("in"))
		})
	}
}

func TestI3_ARenameIsWonByOneOfTwelve(t *testing.T) {
	const items, renamers = 50, 12
	m := mount(t)
	m.items(items)
	m.Must(`mkdir won`)
	racers := m.race(renamers, helperCommand("rename-all", "in", "won", strconv.Itoa(items), ""))
	requireEachOnce(t, items, outputs(t, racers)...)
	require.Empty(t, m.List("in"))
	require.Len(t, m.List("won"), items)
	requireEachOnce(t, items, m.Must(`cat won/*`))
}

func TestI3_ARenameToATempNameIsAClaimOfTheJob(t *testing.T) {
	const items, renamers = 20, 12
	m := mount(t)
	m.items(items)
	tried := scratch(t)
	racers := m.race(renamers, helperCommand("rename-all", "in", "in", strconv.Itoa(items), ".tmp")+"; : > "+tried+"/$$; read")
	m.untilMarked(tried, renamers)
	require.Equal(t, items, m.claimed())
	require.Empty(t, m.List("in"), "a stranger sees neither name")
	for _, p := range racers {
		p.Say()
	}
	requireEachOnce(t, items, outputs(t, racers)...)
	require.Len(t, m.List("in"), items)
	requireEachOnce(t, items, m.Must(`cd in && cat $(seq %d)`, items)) // under their former names
}

// claimed counts the claims.
func (m *Mount) claimed() int {
	m.t.Helper()
	count := 0
	for _, items := range m.Status() {
		for _, i := range items {
			if i.State == "claimed" {
				count++
			}
		}
	}
	return count
}

func TestI3_AClaimedNameIsBusyWhereItIsShown(t *testing.T) {
	m := mount(t, "--when-claimed=busy")
	m.Must(`echo text > f`)
	marks := scratch(t)
	claimant := m.Start(`exec 3< f; : > %s/claimed; read; rm f`, marks)
	m.untilMarked(marks, 1)
	require.Equal(t, []string{"f"}, m.List("."))
	loser := m.Run(`cat f`)
	require.Equal(t, 1, loser.Code)
	require.Contains(t, loser.Out, "Device or resource busy")
	claimant.Say()
	require.Zero(t, claimant.Wait().Code)
	require.Empty(t, m.List("."))
}

func TestI3_ANamedWorkerIsOneClaimantInAllItsSessions(t *testing.T) {
	m := mount(t)
	m.Must(`echo text > f`)
	marks := scratch(t)
	run := quote(binary) + " run --worker %s -- "
	claimant := m.Start(run+`bash -c 'exec 3< f; : > %s/claimed; read'`, "one", marks)
	m.untilMarked(marks, 1)
	require.NotZero(t, m.Run(`cat f`).Code)
	require.NotZero(t, m.Run(run+`cat f`, "two").Code)
	require.Equal(t, "text", m.Must(run+`cat f`, "one"))
	require.Equal(t, "text", m.Must(run+`setsid -w cat f`, "one"))
	m.Must(run+`rm f`, "one")
	require.Empty(t, m.List("."))
	claimant.Say()
	require.Zero(t, claimant.Wait().Code)
	require.NotZero(t, m.Run(`cat f`).Code)
}
