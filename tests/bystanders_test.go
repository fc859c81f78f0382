package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goesOnLooking is what bystanders do with a folder, over and over until a file is there.
const goesOnLooking = `while [ ! -e %[1]s ]; do %[2]s; done > %[1]s.$$ 2>&1; exit 0`

// readers are ways to read a folder to its last byte.
var readers = []string{`cat in/*`, `grep -r . in`, `tar c in`, `find in -type f -exec file {} +`, `find in -type f -exec md5sum {} \;`, `cp -r in /dev/shm/nowhere/x`}

// copyAs is a program that is cat under another name, which is its task's.
func copyAs(t *testing.T, name string) string {
	t.Helper()
	cat, err := os.ReadFile(program(t, "cat"))
	require.NoError(t, err)
	path := filepath.Join(openScratch(t), name)
	require.NoError(t, os.WriteFile(path, cat, 0o755))
	return path
}

// TestI3_WorkersWinBesideWhoOnlyLooks: each worker goes through the folder once, and together they get everything.
func TestI3_WorkersWinBesideWhoOnlyLooks(t *testing.T) {
	const items = 60
	m := mount(t, "--observer", "uid=34", "--observer", "name=my-indexer", "--observer", "exe="+program(t, "b2sum"))
	m.items(items)
	m.Must(`mkdir -m 777 sub; mv sub in/sub`)
	marks := openScratch(t)
	stop := filepath.Join(marks, "go")
	var all []*Process
	for _, r := range readers {
		all = append(all, m.StartAs(nobody, goesOnLooking, stop, r)) // a guest may not remove anything
	}
	all = append(all,
		m.StartAs(34, goesOnLooking, stop, `tar c in; cat in/*`), // the user of backups
		m.Start(goesOnLooking, stop, copyAs(t, "my-indexer")+` in/*`), m.Start(goesOnLooking, stop, copyAs(t, "updatedb")+` in/*`),
		m.Start(goesOnLooking, stop, copyAs(t, "tracker-extract")+` in/*`), m.Start(goesOnLooking, stop, `b2sum in/*`),
		m.Start(goesOnLooking, stop, `ls -lR --color=always; du -a; find in -ls; stat in/*; getfattr -d in/*; test -r in/1 -a -s in/2`),
		m.Start(`timeout 60 inotifywait -m -r in > %s 2>&1 & until grep -q established %[1]s; do :; done; : > %s.$$; while [ ! -e %[2]s ]; do ls in; done; kill $!`,
			filepath.Join(scratch(t), "heard"), stop))
	t.Cleanup(func() { goOn(t, marks) })
	m.Until("all of them look", func() bool { files, _ := filepath.Glob(stop + ".*"); return len(files) == len(all) })

	var workers []*Process
	for range 3 {
		workers = append(workers, m.Start(`for f in in/[0-9]*; do v=$(cat "$f" 2>&1) && rm "$f" && echo $v; done`))
	}
	var outputs []string
	for _, w := range workers {
		outputs = append(outputs, w.Wait().Out)
	}
	goOn(t, marks)
	requireEachOnce(t, items, outputs...)
	for _, p := range all {
		r := p.Wait()
		require.Zero(t, r.Code, "%s: %s", p.cmd, r.Out)
	}
	require.Equal(t, "0", m.Must(`%s events --json %s | grep -c -e quarantined -e released || true`, binary, m.Dir), "nobody but the workers had a claim")
}

// TestI3_WorkersGetEverythingBesideWhoTakes: who reads with a worker's rights takes what he reads, and gives it back.
func TestI3_WorkersGetEverythingBesideWhoTakes(t *testing.T) {
	const items = 40
	m := mount(t)
	m.items(items)
	marks, done := openScratch(t), openScratch(t)
	stop := filepath.Join(marks, "go")
	var all, workers []*Process
	for _, r := range readers {
		all = append(all, m.Start(goesOnLooking, stop, `setsid -w bash -c `+quote(r)))
	}
	t.Cleanup(func() { goOn(t, marks) })
	m.Until("all of them look", func() bool { files, _ := filepath.Glob(stop + ".*"); return len(files) == len(all) })
	for range 3 {
		workers = append(workers, m.Start(`while [ ! -e %s ]; do for f in in/*; do v=$(cat "$f" 2>&1) && rm "$f" && echo $v && : > %s/$v; done; done`, stop, done))
	}
	m.untilMarked(done, items) // an empty folder says nothing: what others read comes back
	require.Empty(t, m.List("in"))
	goOn(t, marks)
	var outputs []string
	for _, w := range workers {
		outputs = append(outputs, w.Wait().Out)
	}
	requireEachOnce(t, items, outputs...)
	for _, p := range all {
		require.Zero(t, p.Wait().Code)
	}
}

// TestI7_WhenABystandersClaimsAreBack: with the end of the script, or of the program that nobody works on with.
func TestI7_WhenABystandersClaimsAreBack(t *testing.T) {
	for name, c := range map[string]struct {
		look string
		kept bool // by the script, while it goes on
	}{
		"grep -r":              {`grep -r . in`, true},
		"tar":                  {`tar c in | cat`, true},
		"find -exec file":      {`find in -type f -exec file {} +`, true},
		"md5sum -c":            {`md5sum in/* > sums; md5sum -c sums; rm sums`, true},
		"a session of its own": {`setsid -w grep -r . in`, false},
		"by ssh":               {`setsid -w bash -c 'grep -r . in'`, false},
		"with a reader":        {`setsid -w bash -c 'tar c in | cat; true'`, false},
		"ls, du, test":         {`ls -lR; du -a; test -s in/1; [ -r in/2 ]; stat in/*; readlink -f in/*; getfattr -d in/*`, false},
		"a file manager":       {`(exec -a tumblerd ` + copyAs(t, "tumblerd") + ` in/*)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t)
			m.items(3)
			marks := scratch(t)
			p := m.Start(`( %s ) > %s 2>&1; : > %s/looked; read; exit 0`, c.look, os.DevNull, marks)
			m.untilMarked(marks, 1)
			if c.kept {
				require.Empty(t, m.List("in"))
				i := m.Item("in/1")
				require.Equal(t, p.PID(), i.Owner.PID)
				require.Contains(t, i.Reason, fmt.Sprintf("pid %d (bash) keeps it for pid", p.PID()))
				require.Contains(t, i.Lifts, "comes back when")
			} else {
				require.Equal(t, "1 2 3", strings.Join(m.List("in"), " "))
			}
			p.Say()
			require.Zero(t, p.Wait().Code)
			requireEachOnce(t, 3, m.Must(`cat in/*`))
			require.Equal(t, "0", m.attempts("in/1"))
		})
	}
}

// TestAStatusWarnsOfWhoKeepsWhatItOnlyLookedAt from a sixth of the time on after which it comes back.
func TestAStatusWarnsOfWhoKeepsWhatItOnlyLookedAt(t *testing.T) {
	m := mount(t, "--linger", "3s")
	m.items(1)
	p := m.Start(`grep -r . in; read; exit 0`)
	m.Until("it warns", func() bool {
		items := m.Status()["in/1"]
		return len(items) > 0 && items[0].Warning != ""
	})
	out, err := exec.Command(binary, "status", m.Dir).CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "warning: in/1: claimed, and not used for")
	m.Until("it is back", func() bool { return len(m.List("in")) == 1 })
	p.Say()
	require.Zero(t, p.Wait().Code)
}
