package tests

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// serial is a mount with a folder of class serial, in which the file c says 0.
func serial(t *testing.T, more ...string) *Mount {
	t.Helper()
	m := mount(t, append([]string{"--rule", "s/**=serial", "--keep-replaced", "0", "--sync", "none"}, more...)...)
	m.Must("mkdir s; echo 0 > s/c; echo 0 > s/d")
	return m
}

// counters add one to c, in their own ways.
var counters = map[string]string{
	"bash":   `count=$(cat c); echo $((count+1)) > c`,
	"dash":   `dash -c 'count=$(cat c); echo $((count+1)) > c'`,
	"read":   `read count < c; echo $((count+1)) > c`,
	"rename": `count=$(cat c); echo $((count+1)) > c.tmp && mv c.tmp c`,
	"jq":     `jq .+1 c > c.tmp && mv c.tmp c`,
	"sed":    `sed -i "s/.*/expr & + 1/e" c`,
	"perl":   `perl -i -pe '$_ = ($_ + 1) . "\n"' c`,
	"python": `python3 -c "
n = int(open('c').read())
with open('c', 'w') as f: f.write(str(n + 1))"`,
	"r+": `python3 -c "
with open('c', 'r+') as f:
    n = int(f.read()); f.seek(0); f.write(str(n + 1)); f.truncate()"`,
	"awk":     `n=$(awk '{ print $1 + 1 }' c); echo $n > c`,
	"timeout": `count=$(timeout 60 cat c); timeout 60 sh -c "echo $((count+1)) > c"`,
}

// TestI6_TenCountersCountToTen: ten unmodified scripts at once, again and again.
func TestI6_TenCountersCountToTen(t *testing.T) {
	rounds := number("AIRLOCKFS_ROUNDS", 30)
	m := serial(t)
	for n := range rounds {
		var all []*Process
		for range 10 {
			all = append(all, m.Start("cd s; %s", counters["bash"]))
		}
		for _, p := range all {
			require.Equal(t, result{}, p.Wait())
		}
		require.Equal(t, strconv.Itoa(10*(n+1)), m.Must("cat s/c"))
	}
	require.Empty(t, m.Status())
	require.Empty(t, m.Locks())
}

// TestI6_CountersOfAllKindsCountExactly: whatever they are written in, all at once.
func TestI6_CountersOfAllKindsCountExactly(t *testing.T) {
	m := serial(t)
	each := 4
	var all []*Process
	for range each {
		for _, name := range sortedKeys(counters) {
			all = append(all, m.Start("%s", "cd s; "+counters[name]))
		}
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
	require.Equal(t, strconv.Itoa(each*len(counters)), m.Must("cat s/c"))
}

// TestI6_CountersInALoopCountExactly: long-lived programs that count many times.
func TestI6_CountersInALoopCountExactly(t *testing.T) {
	m := serial(t)
	var all []*Process
	for range 4 {
		all = append(all, m.Start("%s", `cd s; for n in {1..25}; do read count < c; echo $((count+1)) > c || exit; done`))
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
	require.Equal(t, "100", m.Must("cat s/c"))
}

// TestI6_NobodyDeadlocksOverTwoFiles: who would wait for himself in the end is let through; then one of the saves is refused,
// and told so. What was accepted is counted.
func TestI6_NobodyDeadlocksOverTwoFiles(t *testing.T) {
	m := serial(t)
	script := `cd s; for n in {1..20}; do
	x=$(cat %[1]s); y=$(cat %[2]s)
	echo $((x+1)) > %[1]s && echo did %[1]s; echo $((y+1)) > %[2]s && echo did %[2]s
	done 2>/dev/null; :`
	ab, ba := m.Start(script, "c", "d"), m.Start(script, "d", "c")
	out := ab.Wait().Out + ba.Wait().Out
	for _, name := range []string{"c", "d"} {
		require.Equal(t, strconv.Itoa(strings.Count(out, "did "+name)), m.Must("cat s/%s", name), out)
	}
	require.Greater(t, strings.Count(out, "did"), 40)
}

// TestI6_TwoThatHoldWhatTheOtherWants: the circle, step by step.
func TestI6_TwoThatHoldWhatTheOtherWants(t *testing.T) {
	m := serial(t)
	a, b := m.Client(), m.Client()
	a.reads("s/c")
	b.reads("s/d")
	a.Begin(inWords("open r s/d r")...)
	m.untilWaiting(1)
	require.Equal(t, "0\n", b.reads("s/c"), "it would wait for itself")
	b.OK("open w s/d wct", "write w 1", "close w")
	require.Empty(t, a.End())
	require.Equal(t, "1", a.Call("read", "r"))
	a.OK("open w s/c wct", "write w 2")
	b.Begin(inWords("open w s/c wct")...)
	m.untilWaiting(1)
	a.OK("close w", "close r")
	require.Equal(t, "EBUSY", b.End(), "a has saved meanwhile")
	require.Len(t, m.refused(b.PID()), 1, "it is told once, also if it was sent to look again")
}

// untilWaiting waits until so many opens wait.
func (m *Mount) untilWaiting(n int) {
	m.t.Helper()
	m.Until(fmt.Sprint(n, " opens wait"), func() bool {
		waiting := 0
		for _, l := range m.Locks() {
			if l.Kind == "OPEN" && l.Blocked {
				waiting++
			}
		}
		return waiting == n
	})
}

// TestI6_TheTurnGoesRoundInLine: opens of all kinds wait, and go on in the order in which they came.
func TestI6_TheTurnGoesRoundInLine(t *testing.T) {
	m := serial(t)
	first := m.Client()
	require.Equal(t, "0\n", first.reads("s/c"))
	flags := []string{"r", "wa", "rw", "wt", "wct", "r"}
	var line []*Client
	for n, f := range flags {
		c := m.Client()
		c.Begin("open", "f", "s/c", f)
		m.untilWaiting(n + 1)
		line = append(line, c)
	}
	require.Equal(t, "EAGAIN", m.Client().Call(inWords("open f s/c rn")...))
	first.OK("open w s/c wct", "write w first", "close w")
	for n, c := range line {
		require.Empty(t, c.End(), flags[n])
		for _, later := range line[n+1:] {
			require.True(t, later.Blocked(), "%d goes before its turn", n)
		}
		if flags[n] == "r" {
			c.OK("close f")
			c.Kill()
			continue
		}
		c.OK("write f x", "close f")
	}
	require.Equal(t, "x", m.Must("cat s/c"))
}

// TestI6_AReaderThatNeverWritesEndsItsTurn: with itself, however it ends, or when it is idle for too long.
func TestI6_AReaderThatNeverWritesEndsItsTurn(t *testing.T) {
	for name, end := range map[string]func(p *Process){
		"clean":  func(p *Process) { p.Say() },
		"killed": func(p *Process) { _ = p.Kill() },
		"only its leader is killed": func(p *Process) {
			_ = syscall.Kill(p.PID(), syscall.SIGKILL)
			p.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := serial(t)
			reader := m.Start(`exec <&0; cat s/c; read`)
			m.Until("it has read", func() bool { return reader.out.String() == "0\n" })
			next := m.Start("cd s; %s", counters["bash"])
			m.untilWaiting(1)
			require.Regexp(t, `s/c +reserved|reserved .*s/c`, m.Airlock("status").Out)
			end(reader)
			require.Equal(t, result{}, next.Wait())
			require.Equal(t, "1", m.Must("cat s/c"))
		})
	}
}

// TestI6_ATurnLastsUntilWhatWasWrittenIsCurrent: the kernel tells of a script's last close when that has ended.
func TestI6_ATurnLastsUntilWhatWasWrittenIsCurrent(t *testing.T) {
	m := serial(t)
	first := m.Start("%s", `cd s; read count < c; echo read; read <&0; echo $((count+1)) > c`)
	m.Until("it has read", func() bool { return first.out.String() == "read\n" })
	second := m.Start("cd s; %s", counters["bash"])
	m.untilWaiting(1)
	first.Say()
	require.Zero(t, first.Wait().Code)
	require.Equal(t, result{}, second.Wait())
	require.Equal(t, "2", m.Must("cat s/c"))
}

// TestI6_AStuckReaderKeepsOthersWaitingForSoLong: --reserve. It may still write if nobody else has.
func TestI6_AStuckReaderKeepsOthersWaitingForSoLong(t *testing.T) {
	m := serial(t, "--reserve", "300ms", "--wait", "0")
	stuck, next := m.Client(), m.Client()
	began := time.Now()
	stuck.reads("s/c")
	require.Equal(t, "0\n", next.reads("s/c"))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	next.Kill()
	stuck.OK("open w s/c wct", "write w 1", "close w")
	m.Must("cat s/c > /dev/null; echo 2 > s/c")
	require.Equal(t, "EBUSY", stuck.Call(inWords("open w s/c wct")...))
}

// TestI6_ReservationsAreTold: who has it, since when, until when, in locks, status and why; a call that can't wait is refused
// and told whom it met.
func TestI6_ReservationsAreTold(t *testing.T) {
	m := serial(t)
	a, b := m.Client(), m.Client()
	a.reads("s/c")
	l := m.Locks()
	require.Len(t, l, 1)
	require.Equal(t, []any{"s/c", "RESERVE", "WRITE", a.PID(), false}, []any{l[0].Path, l[0].Kind, l[0].Mode, l[0].PID, l[0].Blocked})
	require.WithinDuration(t, l[0].Since.Add(30*time.Second), l[0].Until, time.Second)
	i := m.item("s/c")
	require.Equal(t, []any{"reserved", a.PID()}, []any{i.State, i.Owner.PID})
	require.Equal(t, l[0].Until, i.Until)
	require.Regexp(t, fmt.Sprintf(`pid %d .* has read it, and may write it`, a.PID()), i.Reason)
	why := m.Airlock("why s/c").Out
	require.Regexp(t, `reserved`, why)
	require.Regexp(t, fmt.Sprintf(`%d .* has reserved it, for .*: others' opens wait`, a.PID()), why)
	require.NotContains(t, m.Airlock("ls --hidden s").Out, "reserved")
	b.OK("open w s/t.tmp wct", "close w")
	for call, verb := range map[string]string{"unlink s/c": "remove", "rename s/c s/e": "rename", "rename s/t.tmp s/c": "rename", "truncate s/c 0": "open"} {
		require.Equal(t, "EBUSY", b.Call(inWords(call)...), call)
		refused := m.refused(b.PID())
		require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`%s: busy: met the reservation of pid %d .* since .*; wait`, verb, a.PID())), refused[len(refused)-1].Detail)
	}
	require.Equal(t, "0", m.Must("cat s/d"), "other files are nobody's")
	a.Kill()
	require.Equal(t, "0", m.Must("cat s/c"))
}

// TestI6_WhoOnlyLooksReservesNothing: observers, and who may not write the file; neither do looks.
func TestI6_WhoOnlyLooksReservesNothing(t *testing.T) {
	m := serial(t, "--observer", "uid=1234")
	m.Must("chmod 755 s; chmod 644 s/c")
	read := `exec 3< s/c; cat <&3; exec 3<&-; read; :`
	for _, uid := range []uint32{1234, 4321} {
		eye := m.StartAs(uid, "%s", read)
		m.Until("it has read", func() bool { return eye.out.String() != "" })
		me := m.Client()
		require.NotEmpty(t, me.reads("s/c"))
		require.Equal(t, 0, m.RunAs(uid, "cat s/c").Code, "it does not wait either")
		me.OK("open w s/c wct", "write w 1", "close w")
		eye.Say()
		require.Zero(t, eye.Wait().Code)
	}
	a := m.Client()
	require.Contains(t, a.Call("stat", "s/c"), "bytes")
	require.Empty(t, m.Locks())
}

// TestI6_AnInterruptedWaiterLeavesTheLine: a signal ends the wait, and the turn goes to the next.
func TestI6_AnInterruptedWaiterLeavesTheLine(t *testing.T) {
	m := serial(t)
	a := m.Client()
	a.reads("s/c")
	b := m.Start("exec cat s/c")
	m.untilWaiting(1)
	c := m.Start("cd s; %s", counters["bash"])
	m.untilWaiting(2)
	require.NoError(t, syscall.Kill(b.PID(), syscall.SIGINT))
	require.Equal(t, 128+int(syscall.SIGINT), b.Wait().Code)
	m.untilWaiting(1)
	a.OK("open w s/c wct", "write w 5", "close w")
	require.Equal(t, result{}, c.Wait())
	require.Equal(t, "6", m.Must("cat s/c"))
}

// TestI6_ARestartForgetsReservations: nobody waits for who has read before it, and he may write.
func TestI6_ARestartForgetsReservations(t *testing.T) {
	m := serial(t)
	job := m.Start(`cd /; cat $M/s/c; read; cd $M/s; echo 7 > c`)
	m.Until("it has read", func() bool { return job.out.String() == "0\n" })
	m.stop()
	m.start()
	require.Equal(t, "0", m.Must("cat s/c"))
	job.Say()
	require.Zero(t, job.Wait().Code)
	require.Equal(t, "7", m.Must("cat s/c"))
}

// TestI6_HistoriesOfSerialFilesAreLinearizable: as in class shared, and nobody who has read is ever refused.
func TestI6_HistoriesOfSerialFilesAreLinearizable(t *testing.T) {
	m := serial(t, "--reserve", "20ms")
	for seed := range number("AIRLOCKFS_HISTORIES", 2) {
		m.Must("printf first > s/h%d", seed)
		all := m.history(fmt.Sprintf("s/h%d", seed), 4, 25, seed)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(saveModel, all, 20*time.Second), "%+v", all)
	}
}
