package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// mountLimited mounts with a daemon that may have so many descriptors.
func mountLimited(t *testing.T, most int) *Mount {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), under: []string{"bash", "-c", fmt.Sprintf(`ulimit -n %d; "$@"; exit $?`, most), "bash"}}
	m.start()
	t.Cleanup(m.end)
	return m
}

// everythingElseGoesOn: while no file can be opened, names, attributes and reports work as ever.
func (m *Mount) everythingElseGoesOn() {
	m.t.Helper()
	require.Contains(m.t, m.Run(`echo x > one-more`).Out, "Too many open files in system")
	require.Equal(m.t, "2", m.Must(`mv in/moved in/here; stat --printf=%%s in/here; mkdir d; mv d e; rmdir e; chmod 600 in/here; rm in/here; ls -A > %s`, os.DevNull))
	require.Contains(m.t, m.Must(`%s events %s`, binary, m.Dir), "LimitNOFILE")
}

// TestI4_WhenTheDescriptorsRunOutOnlyOpensAreRefused, and when files are closed again all is as before.
func TestI4_WhenTheDescriptorsRunOutOnlyOpensAreRefused(t *testing.T) {
	const opens = `
import os, sys
files = []
for n in range(200):
    try: files.append(os.open(f"in/{n}", %s, 0o644))
    except OSError as e: assert e.errno == 23, e
print(len(files), flush=True)
open(sys.argv[1] + "/done", "w")
sys.stdin.readline()
for f in files: os.close(f)
`
	m := mountLimited(t, 192)
	m.Must(`mkdir in`)
	for _, flags := range []string{"os.O_WRONLY | os.O_CREAT", "os.O_RDONLY"} {
		m.Must(`echo x > in/moved`)
		marks := scratch(t)
		p := m.Start(`exec python3 -c %s %s`, quote(fmt.Sprintf(opens, flags)), marks)
		m.untilMarked(marks, 1)
		m.everythingElseGoesOn()
		p.Say()
		opened, err := strconv.Atoi(strings.TrimSpace(p.Wait().Out))
		require.NoError(t, err)
		require.Greater(t, opened, 60)
		require.Less(t, opened, 80)
		m.Until("what was written is there, what was claimed is back", func() bool { return len(m.List("in")) == opened || flags == "os.O_RDONLY" })
		require.Equal(t, "200", m.Must(`for n in $(seq 0 199); do echo $n > in/$n; done; ls in | wc -l`))
	}
	require.Equal(t, "200", m.Must(`cat in/* | wc -l`))
}

// TestI4_ManyProcessesThatHoldOneFileEachLeaveRoom: knowing each of them takes descriptors, too.
func TestI4_ManyProcessesThatHoldOneFileEachLeaveRoom(t *testing.T) {
	m := mountLimited(t, 192)
	m.items(80)
	m.Must(`echo x > in/moved`)
	marks := scratch(t)
	p := m.Start(`for n in $(seq 80); do setsid --wait bash -c 'exec 3< in/$0; : > %s/$0; exec tail -f /dev/null --pid=$1' $n $$ & done 2> /dev/null; read; exit`, marks)
	m.untilMarked(marks, 80)
	require.Less(t, m.claimed(), 80)
	m.everythingElseGoesOn()
	p.Say()
	p.Wait()
	m.Until("all are back", func() bool { return m.claimed() == 0 })
	requireEachOnce(t, 80, m.Must(`cat in/*`))
}

// hoarders open items in each of three ways and keep them open: to claim them, to append (which takes a descriptor for the
// old bytes and one for the new ones), and to make new ones. They say how many opens were granted.
const hoarders = `
import os, sys
me, opens, items = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
files, refused, other = [], 0, []
for n in range(opens):
    k = me * opens + n
    name, flags = [("in/%d" % (k % items), os.O_RDONLY), ("in/%d" % (k % items), os.O_WRONLY | os.O_APPEND), ("new/%d" % k, os.O_WRONLY | os.O_CREAT)][k % 3]
    try:
        fd = os.open(name, flags, 0o644)
        files.append((fd, flags))
        if flags != os.O_RDONLY: os.write(fd, b"y")
    except OSError as e:
        if e.errno == 23: refused += 1
        else: other.append(str(e))
open(sys.argv[4] + "/%d" % me, "w").write("%d %d %s\n" % (len(files), refused, "; ".join(other)))
os.open(sys.argv[5], os.O_RDONLY) # until somebody has the FIFO open for writing
`

// TestI4_HoweverManyOpenFilesTheDaemonKeepsItsReserve, from few processes and from many. (AIRLOCKFS_OPENS: how many, and a
// daemon that may have as many descriptors.)
func TestI4_HoweverManyOpenFilesTheDaemonKeepsItsReserve(t *testing.T) {
	opens := surroundings.Number(t, "AIRLOCKFS_OPENS", 400)
	for name, processes := range map[string]int{"few": 2, "many": max(8, opens/80)} {
		t.Run(name, func(t *testing.T) {
			m := mountLimited(t, opens)
			m.Must(`mkdir in new; for n in $(seq 0 %d); do echo x > in/$n; done; echo x > in/moved`, opens-1)
			marks, end := scratch(t), scratch(t)+"/fifo"
			require.NoError(t, syscall.Mkfifo(end, 0o644))
			p := m.Start(`for n in $(seq 0 %d); do python3 -c %s $n %d %d %s %s & done; wait`,
				processes-1, quote(hoarders), opens/processes, opens, marks, end)
			m.untilMarked(marks, processes)
			m.everythingElseGoesOn()
			used, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.pid()))
			require.NoError(t, err)
			granted := m.Must(`cat %s/* | awk 'NF > 2 {print} {g += $1; r += $2} END {print g, "granted,", r, "refused"}'`, marks)
			require.NotContains(t, granted, "Errno")
			t.Logf("%s, %d descriptors of %d in use", granted, len(used), opens)
			require.Less(t, len(used), opens*7/8)
			m.Must(`%s status %s > /dev/null`, binary, m.Dir)
			fifo, err := os.OpenFile(end, os.O_RDWR, 0)
			require.NoError(t, err)
			p.Wait()
			require.NoError(t, fifo.Close())
			m.Until("all is closed", func() bool { return len(m.Status()) == 0 })
			require.Equal(t, strconv.Itoa(opens), m.Must(`ls in | wc -l`), "what was claimed is back, what was appended to is there")
		})
	}
}
