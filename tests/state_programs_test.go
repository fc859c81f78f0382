package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// editing are programs that read a state file and write it anew. Half-way they touch "$W.at" and wait for a line of "$W".
// Each must fail if somebody else has saved meanwhile.
var editing = map[string]string{
	"shell":              `v=$(cat f); wait_; echo "$v mine" > f`,
	"command group":      `{ cat f; echo mine; } > f.tmp && wait_ && mv f.tmp f`,
	"jq":                 `jq -R . f > f.tmp && wait_ && mv f.tmp f`,
	"jq, own temp name":  `jq -R . f > .new.$$ && wait_ && mv .new.$$ f`,
	"sed -i":             `sed -i "1e touch $W.at; read -r x < $W" f`,
	"perl -i":            `perl -i -pe 'if ($. == 1) { open(A, ">", "$ENV{W}.at"); close(A); open(X, "<", $ENV{W}); <X> }' f`,
	"python open w":      `python3 -c "$PY"$'\n'"t = open('f').read(); wait(); open('f', 'w').write(t + 'mine')"`,
	"python os.replace":  `python3 -c "$PY"$'\n'"t = open('f').read(); wait(); open('f.tmp', 'w').write(t + 'mine'); os.replace('f.tmp', 'f')"`,
	"python tempfile":    `python3 -c "$PY"$'\n'"t = open('f').read(); wait(); o = tempfile.NamedTemporaryFile(dir='.', delete=False); o.write(b'mine'); o.close(); os.rename(o.name, 'f')"`,
	"python remove":      `python3 -c "$PY"$'\n'"t = open('f').read(); wait(); os.remove('f'); open('f', 'w').write('mine')"`,
	"through timeout":    `v=$(timeout 60 cat f); wait_; timeout 60 sh -c "echo $v mine > f"`,
	"vim":                `vim -u NONE -es -c 'set swapfile' -c "silent !touch $W.at; read x < $W" -c 'normal Omine' -c 'w!' -c 'q!' f </dev/null; ! grep -q mine f`,
	"vim, backupcopy=no": `vim -u NONE -es -c 'set backupcopy=no writebackup' -c "silent !touch $W.at; read x < $W" -c 'normal Omine' -c 'w!' -c 'q!' f </dev/null; ! grep -q mine f`,
	"cp and back":        `cp f copy; wait_; echo mine >> copy; cp copy f`,
	"mv away and anew":   `cat f > /dev/null; wait_; mv f f.bak && echo mine > f`,
	"truncate":           `read v < f; wait_; truncate -s 0 f && echo mine >> f`,
	"dd":                 `dd if=f of=copy status=none; wait_; dd if=copy of=f status=none`,
	"install":            `cat f > copy; wait_; install copy f`,
}

// editor is a script of such a program, with how it waits.
func editor(fifo, script string) string {
	return fmt.Sprintf(`cd state; export W=%s
wait_() { touch $W.at; read x < $W; }
PY='import os, sys, tempfile
def wait():
    open(os.environ["W"] + ".at", "w").close()
    open(os.environ["W"]).readline()
'
set -e; %s`, quote(fifo), script)
}

// TestI6_TheBaseFollowsTheJob: whatever processes a job reads and writes with, it does not undo what was saved meanwhile;
// and if nothing was, it succeeds.
func TestI6_TheBaseFollowsTheJob(t *testing.T) {
	for name, script := range editing {
		t.Run(name, func(t *testing.T) {
			m := state(t)
			for _, meanwhile := range []string{"", "cat state/f; echo two > state/f"} {
				fifo := filepath.Join(scratch(t), "go")
				m.Must("mkfifo %s; echo one > state/f; rm -f state/copy", quote(fifo))
				job := m.Start("%s", editor(fifo, script))
				m.Until("it has read", func() bool { _, err := os.Stat(fifo + ".at"); return err == nil })
				m.Must("%s", meanwhile)
				m.Must("echo > %s", quote(fifo))
				r := job.Wait()
				text := m.Must("cat state/f; echo .")
				switch {
				case meanwhile != "":
					require.Equal(t, "two\n.", text, r.Out)
					require.NotZero(t, r.Code+strings.Count(name, "vim"), "it was not told: %s", r.Out)
				case strings.HasPrefix(name, "vim"):
					require.Contains(t, text, "mine", r.Out)
				default:
					require.Zero(t, r.Code, r.Out)
				}
			}
		})
	}
}

// sequential are ways to work on a state file, one after the other, which nothing may hinder.
const sequential = `set -e; cd state
echo a > f; echo b > f; cat f > g; sort g > f; mv f f.old; cp f.old f; sed -i s/b/c/ f; perl -i -pe 's/c/d/' f
grep -v x f > f.tmp && mv f.tmp f; sort -o f f; cat f | sed s/d/e/ > g && mv g f; python3 -c "
import os
open('f', 'a').write('python\n'); t = open('f').read(); open('f', 'w').write(t.upper()); os.replace('f', 'h'); os.rename('h', 'f')"
tee f < f.old > /dev/null; for i in 1 2 3; do date > now; cat now > /dev/null; date > now; done; rm now; echo x > now
vim -u NONE -es -c 'normal Ovim' -c wq f </dev/null; vim -u NONE -es -c 'set backupcopy=no' -c 'normal Ovim' -c w -c 'normal Oagain' -c wq f </dev/null
printf '[1]' > j; jq '.+[2]' j > j.tmp && mv j.tmp j; jq '.+[3]' j > j.tmp && mv j.tmp j; jq -c . j; head -3 f`

// TestI6_SequentialWorkIsNotHindered: one job after another, and each by itself.
func TestI6_SequentialWorkIsNotHindered(t *testing.T) {
	m := state(t)
	for range 2 {
		require.Equal(t, "[1,2,3]\nvim\nagain\nvim", m.Must("%s", sequential))
		m.Must(`cat state/f; echo blind > state/f; cp state/f.old state/j`)
	}
	require.Empty(t, m.Status())
}

// replPy keeps jobs.json in memory, as the article's REPL and server do, and saves it under one fixed temp name. Told that a
// save has failed it starts over from the file, as its user would. It prints what was accepted. Before the first save it waits for
// a line, so that all of them have read the same version.
const replPy = `
import json, os, sys
who, saves = sys.argv[1], int(sys.argv[2])

def load():
    with open("jobs.json") as f:
        return json.load(f)

def save(jobs):
    with open("jobs.json.tmp", "w") as f:
        json.dump(jobs, f)
        f.flush()
        os.fsync(f.fileno())
    os.replace("jobs.json.tmp", "jobs.json")

jobs = load()
os.mkdir("../knows/" + who)
sys.stdin.readline()
for n in range(saves):
    job = "%s-%d" % (who, n)
    jobs.append(job)
    try:
        save(jobs)
        print("accepted", job)
    except OSError as e:
        print("refused", job, e.errno)
        jobs = load()
`

// number is a number that the environment may set.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// TestI6_EverySaveCountsOrFails: programs that keep a state file in memory and write it whole, unmodified and at once. Every
// save becomes current or fails in its program, and nothing that was accepted is missing in the end.
func TestI6_EverySaveCountsOrFails(t *testing.T) {
	saves := number("AIRLOCKFS_SAVES", 150)
	if delayed() {
		saves = 6
	}
	for _, programs := range []int{2, 8} {
		t.Run(strconv.Itoa(programs), func(t *testing.T) {
			m := state(t, "--sync", "none")
			m.Must("mkdir knows; echo '[]' > state/jobs.json")
			var all []*Process
			for n := range programs {
				all = append(all, m.Start("cd state; exec python3 -c %s p%d %d", quote(replPy), n, saves))
			}
			m.Until("all have read it", func() bool { return len(m.List("knows")) == programs })
			for _, p := range all {
				p.Say()
			}
			accepted, refused := []string{}, 0
			for _, p := range all {
				r := p.Wait()
				require.Zero(t, r.Code, r.Out)
				for line := range strings.Lines(r.Out) {
					f := strings.Fields(line)
					if f[0] == "accepted" {
						accepted = append(accepted, f[1])
						continue
					}
					require.Equal(t, "16", f[2], "EBUSY")
					refused++
				}
			}
			require.Equal(t, programs*saves, len(accepted)+refused)
			require.NotZero(t, refused, "they have not met")
			require.ElementsMatch(t, accepted, strings.Fields(m.Must("jq -r '.[]' state/jobs.json")))
			t.Logf("%d accepted, %d refused", len(accepted), refused)
		})
	}
}
