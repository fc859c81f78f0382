package tests

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// markMount has a folder lk in which all files are lock files, beside a queue.
func markMount(t *testing.T, flags ...string) *Mount {
	m := mount(t, append([]string{"--rule", "lk/**=lock"}, flags...)...)
	m.Must("mkdir -m 777 lk in")
	return m
}

// makingMarks are the ways in which scripts make a lock by a name that nobody else has. Each leaves x.lock in the working folder.
var makingMarks = map[string]string{
	"mkdir":             `mkdir x.lock`,
	"mkdir with a pid":  `mkdir x.lock && echo $$ > x.lock/pid`,
	"noclobber":         `set -o noclobber; echo $$ > x.lock`,
	"noclobber, empty":  `set -o noclobber; : > x.lock`,
	"lockfile(1)'s 0":   `set -o noclobber; printf 0 > x.lock`,
	"a time":            `set -o noclobber; date +%s > x.lock`,
	"host and pid":      `set -o noclobber; echo host:$$ > x.lock`,
	"a file of a dash":  `exec sh -c 'set -C; echo $$ > x.lock; read x; exit 0'`,
	"O_EXCL":            `exec python3 -c 'import os,sys; f=os.open("x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); os.write(f, str(os.getpid()).encode()); sys.stdin.readline()'`,
	"O_EXCL, read only": `exec python3 -c 'import os,sys; os.open("x.lock", os.O_CREAT|os.O_EXCL); sys.stdin.readline()'`,
	"ln":                `echo $$ > t.$$; ln t.$$ x.lock`,
	"ln of a temp file": `echo $$ > t.tmp; ln t.tmp x.lock; rm t.tmp`,
	"ln -s":             `ln -s nobody@host.17:1 x.lock`,
	"O_EXCL and flock":  `exec python3 -c 'import fcntl,os,sys; f=os.open("x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); fcntl.flock(f, 2); sys.stdin.readline()'`,
	"mknod":             `exec python3 -c 'import os,sys; os.mknod("x.lock"); sys.stdin.readline()'`,
	"from a subshell":   `(mkdir x.lock); v=$(true)`,
	"under timeout":     `timeout 20 mkdir x.lock`,
}

// untilMade waits for a name, on the backing.
func (m *Mount) untilMade(path string) {
	m.t.Helper()
	m.Until(path+" is made", func() bool {
		_, err := os.Lstat(m.Below(path))
		return err == nil
	})
}

// marked are the marks that status shows, with their holder's program.
func (m *Mount) marked() map[string]string {
	m.t.Helper()
	all := map[string]string{}
	for path, items := range m.Status() {
		for _, i := range items {
			if i.State == "marked" {
				all[path] = i.Owner.Program
			}
		}
	}
	return all
}

// A mark goes with its maker: who waits for the kill to be over finds the name free, and who polls gets it.
func TestI7_AMarkGoesWithWhoIsKilled(t *testing.T) {
	for name, make := range makingMarks {
		for _, folder := range []string{"lk", "in"} {
			t.Run(name+" in "+folder, func(t *testing.T) {
				m := markMount(t)
				p := m.Start(`cd %s; %s; read x`, folder, make)
				m.untilMade(folder + "/x.lock")
				m.Until("it is a mark", func() bool { return len(m.marked()) == 1 })
				rival := m.Start(`until mkdir %s/x.lock 2> /dev/null; do :; done; exec sleep infinity`, folder)
				p.Kill()
				m.Until("the rival has it, and not its mkdir", func() bool {
					return slices.ContainsFunc(m.Status()[folder+"/x.lock"], func(i report.Item) bool { return i.State == "marked" && i.Owner.PID == rival.PID() })
				})
				rival.Kill()
				require.Equal(t, 1, m.Run(`test -e %[1]s/x.lock || test -L %[1]s/x.lock`, folder).Code, "at once")
			})
		}
	}
}

// What a job leaves that ended with 0 is an ordinary file; if it failed the name is free.
func TestI7_AMarkStaysIfItsMakerEndsWellAndGoesIfItFails(t *testing.T) {
	for name, make := range makingMarks {
		if strings.HasPrefix(make, "exec") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := markMount(t)
			require.Equal(t, 0, m.Run(`cd lk; %s; exit 0`, make).Code)
			require.Equal(t, 0, m.Run(`test -e lk/x.lock || test -L lk/x.lock`).Code)
			require.Empty(t, m.marked())
			m.Must(`rm -r lk/x.lock`)
			require.Equal(t, 3, m.Run(`cd lk; %s; exit 3`, make).Code)
			require.Equal(t, 1, m.Run(`test -e lk/x.lock || test -L lk/x.lock`).Code)
			require.Equal(t, 0, m.Run(`mkdir lk/x.lock`).Code)
		})
	}
}

// While its maker lives nobody else removes, replaces or rewrites a mark, and who tries is told whose it is.
func TestI3_AStrangerTakesNoMarkAway(t *testing.T) {
	for name, make := range makingMarks {
		t.Run(name, func(t *testing.T) {
			m := markMount(t)
			p := m.Start(`cd lk; %s; read x; rm -rf x.lock; read x`, make)
			m.untilMade("lk/x.lock")
			m.Until("it is a mark", func() bool { return len(m.marked()) == 1 })
			c := m.Client()
			c.OK("open f lk/f wct", "close f", "mkdir lk/d")
			folder := strings.HasPrefix(name, "mkdir") || strings.Contains(make, " mkdir") || strings.Contains(make, "(mkdir")
			remove, other := "unlink", "lk/f"
			if folder {
				remove, other = "rmdir", "lk/d"
			}
			require.Equal(t, "EBUSY", c.Call(remove, "lk/x.lock"))
			require.Equal(t, "EBUSY", c.Call("rename", "lk/x.lock", "lk/y"))
			if name != "mkdir with a pid" { // there is something in it
				require.Equal(t, "EBUSY", c.Call("rename", other, "lk/x.lock"))
			}
			require.Equal(t, "EBUSY", c.Call("exchange", other, "lk/x.lock"))
			require.Equal(t, "EBUSY", c.Call("rename", "lk", "elsewhere"))
			if !folder && name != "ln -s" {
				require.Equal(t, "EBUSY", c.Call("open", "x", "lk/x.lock", "wt"))
				require.Equal(t, "EBUSY", c.Call("truncate", "lk/x.lock", 0))
				c.OK("open x lk/x.lock rw")
				require.Equal(t, "EBUSY", c.Call("write", "x", "stolen"))
				require.Equal(t, strings.Contains(name, "flock"), c.Call("flock", "x", "exnb") == "EAGAIN")
				c.OK("close x")
			}
			require.Contains(t, m.Airlock("events .").Out, "busy: met the mark of pid")
			if !strings.HasPrefix(make, "exec") {
				p.Say()
				m.Until("its maker removes it", func() bool { return m.Run(`test -e lk/x.lock || test -L lk/x.lock`).Code == 1 })
			}
		})
	}
}

// A tree that is copied, and not to its end, keeps its lock files of other kinds: they name nobody.
func TestI4_ACopyThatFailsTakesNoLockFileAway(t *testing.T) {
	m := markMount(t)
	src := scratch(t)
	files := map[string]string{"Cargo.lock": "# made by hand\nversion = 4\n", "yarn.lock": strings.Repeat("x", 5000), "poetry.lock": "[[package]]\nname = \"a\"\nversion = \"1.1.1\"\n",
		"flake.lock": `{"version":7}`, "deep/Gemfile.lock": "GEM\n  specs:\n    rake (13.0.6)\n"}
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(src, name), []byte(text), 0o644))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(src, "zz"), 0o600))
	r := m.Run(`mkdir in/zz in/tree; cp -r %[1]s/. in/tree; cp -r %[1]s/. in/tree/ %[1]s/nothing; cp --copy-contents /dev/null /nonexistent/x; python3 -c '
import shutil, sys
shutil.copytree(sys.argv[1], "lk/tree", ignore=lambda *a: ["zz"]); sys.exit(1)' %[1]s`, src)
	require.Equal(t, 1, r.Code)
	m.Must(`python3 -c '
import os, shutil, sys
if os.fork() == 0:
    shutil.copytree(sys.argv[1], "lk/killed", ignore=lambda *a: ["zz"]); os.kill(os.getpid(), 9)
os.wait()' %s`, src)
	for name, text := range files {
		for _, tree := range []string{"in/tree/", "lk/tree/", "lk/killed/"} {
			require.Equal(t, strings.TrimSuffix(text, "\n"), m.Must(`cat %s`, tree+name), tree+name)
		}
	}
	require.Empty(t, m.marked())
}

// What a copier makes is nobody's lock: who ran it may fail, and anybody may remove it meanwhile.
func TestI4_WhatIsCopiedIsNoMark(t *testing.T) {
	m := markMount(t, "--root-override=false")
	src := scratch(t)
	m.Must(`cd %s; mkdir -p tree/lock tree/deep/x.lock; : > tree/yarn.lock; echo 42 > tree/count.lock; ln -s a tree/link.lock
git init -q; git add .; git -c user.email=a@b -c user.name=x commit -qm x`, src)
	p := m.Start(`cd in; cp -r %[1]s/tree cp; cp -a %[1]s/tree cpa; mkdir tar; tar -C %[1]s -c tree | tar -C tar -x; rsync -a %[1]s/tree/ rsync; git clone -q %[1]s clone
: > done; read x; exit 1`, src)
	m.untilMade("in/done")
	require.Empty(t, m.marked())
	names := m.Must(`cd in; find cp cpa tar rsync clone -not -path '*/.git/*' | sort`)
	m.Must(`rm in/cp/yarn.lock; : > in/cp/yarn.lock; rm in/done`)
	p.Say()
	require.Equal(t, 1, p.Wait().Code)
	require.Equal(t, names, m.Must(`cd in; find cp cpa tar rsync clone -not -path '*/.git/*' | sort`))
}

// git's own lock files go with it, whatever is in them, and the next git works.
func TestI7_GitsLockFilesGoWithIt(t *testing.T) {
	m := markMount(t)
	m.Must(`git init -q r; cd r; git config user.email a@b; git config user.name n; git config core.fsync none; echo 1 > f; git add f; git commit -qm 1; echo 2 > f`)
	p := m.Start(`cd r; GIT_EDITOR='sleep infinity #' git commit -qa`)
	m.untilMade("r/.git/index.lock")
	m.Until("git holds it", func() bool { return m.marked()["r/.git/index.lock"] == "git" })
	require.NotZero(t, m.Run(`cd r; git add f`).Code)
	require.NotZero(t, m.Run(`rm r/.git/index.lock`).Code)
	p.Kill()
	require.Equal(t, result{}, m.Run(`cd r; git add f; git commit -qm 2; git fsck`))
}

// Who reads about locks is told of marks: whose, since when.
func TestI8_MarksAreShownWhileTheyHold(t *testing.T) {
	m := markMount(t)
	p := m.Start(`cd lk; set -C; echo $$ > d.pid; mkdir m; read x`)
	m.untilMade("lk/m")
	m.Until("both are the shell's", func() bool { return maps.Equal(map[string]string{"lk/d.pid": "bash", "lk/m": "bash"}, m.marked()) })
	var found []report.Lock
	for _, l := range m.Locks() {
		if l.Kind == "MARK" {
			found = append(found, l)
		}
	}
	require.Len(t, found, 2)
	require.Equal(t, p.PID(), found[0].PID)
	why, err := exec.Command(binary, "why", m.Path("lk/d.pid")).CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(why), "bash holds it by its existence")
	check, err := exec.Command(binary, "check", m.Backing).CombinedOutput()
	require.NoError(t, err, "%s", check)
	require.NotContains(t, string(check), "mark")
	p.Kill()
	m.Until("none is left", func() bool { return len(m.marked()) == 0 })
	require.Equal(t, "quarantined", m.State("lk/d.pid"))
	quarantined, err := filepath.Glob(m.Below(".airlockfs/quarantine/*/m"))
	require.NoError(t, err)
	require.Len(t, quarantined, 1, "a folder is kept, too")
	kept, err := filepath.Rel(m.Backing, quarantined[0])
	require.NoError(t, err)
	require.Contains(t, m.Must("%s events .", binary), "it was a mark, and its holder was killed by signal 9: it is kept as "+kept+" in the backing")
	records, err := os.ReadDir(m.Below(".airlockfs/marks"))
	require.NoError(t, err)
	require.Empty(t, records)
}
