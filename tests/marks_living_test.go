package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// makers are processes that live on with a mark, lk/x.lock, in ways that make it easy to lose sight of them. Each writes the pid
// whose death ends the mark to $P/pid.
var makers = map[string]string{
	"setsid":            `setsid bash -c 'mkdir lk/x.lock; echo $$ > $P/pid; exec sleep infinity' & exit 1`,
	"nohup":             `nohup bash -c 'set -C; echo $$ > lk/x.lock; echo $$ > $P/pid; exec sleep infinity' > /dev/null 2>&1 & exit 1`,
	"exec":              `set -C; echo $$ > lk/x.lock; echo $$ > $P/pid; exec sleep infinity`,
	"setsid afterwards": `exec python3 -c 'import os,time; os.fork() and os._exit(1); f=os.open("lk/x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); os.close(f); os.setsid(); open(os.environ["P"]+"/pid","w").write(str(os.getpid())); time.sleep(1e6)'`,
	"double fork":       `exec python3 -c 'import os,time; os.fork() and os._exit(1); os.setsid(); os.fork() and os._exit(1); f=os.open("lk/x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); os.write(f, b"%d\n" % os.getpid()); os.close(f); open(os.environ["P"]+"/pid","w").write(str(os.getpid())); time.sleep(1e6)'`,
	"named by launcher": `set -C; sleep infinity & echo $! > lk/x.lock; echo $! > $P/pid; exit 1`,
	"launcher, setsid":  `set -C; setsid sleep infinity & echo $! > lk/x.lock; echo $! > $P/pid; exit 1`,
	"its pid is written": `exec python3 -c 'import os,time
f=os.open("lk/x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); r,w=os.pipe()
if os.fork(): os._exit(0)
os.setsid(); os.write(f, b"%d\n" % os.getpid()); os.close(f); open(os.environ["P"]+"/pid","w").write(str(os.getpid())); time.sleep(1e6)'`,
	"setsid of a folder": `cd lk; cat /dev/null; setsid bash -c 'mkdir x.lock; echo $$ > $P/pid; exec sleep infinity' & wait`,
	"subshell":           `(mkdir lk/x.lock); echo $$ > $P/pid; sleep infinity`,
	"another user":       `exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c 'set -C; echo $$ > lk/x.lock; echo $$ > $P/pid; exec sleep infinity'`,
	"sudo":               `exec sudo -u nobody P=$P bash -c 'set -C; echo $$ > lk/x.lock; echo $$ > $P/pid; exec sleep infinity'`,
	"su":                 `exec su -s /bin/bash nobody -c 'set -C; echo $$ > lk/x.lock; echo $$ > $P/pid; exec sleep infinity'`,
	"pid namespace":      `unshare --pid --fork --mount-proc bash -c 'set -C; echo $$ > lk/x.lock; exec sleep infinity' & echo $! > $P/parent; until [ -s lk/x.lock ]; do :; done; cat /proc/$!/task/$!/children > $P/pid; wait`,
	"nested, not 1":      `unshare --pid --fork --mount-proc bash -c 'bash -c "set -C; echo \$\$ > lk/x.lock; exec sleep infinity" & wait' & until [ -s lk/x.lock ]; do :; done; c=$(cat /proc/$!/task/$!/children); cat /proc/${c% }/task/${c% }/children > $P/pid; wait`,
	"user namespace":     `exec setpriv --reuid=65534 --regid=65534 --clear-groups unshare --map-root-user bash -c 'mkdir lk/x.lock; echo $$ > $P/pid; exec sleep infinity'`,
	"another's pid":      `set -C; echo 1 > lk/x.lock; echo $$ > $P/pid; exec sleep infinity`,
	"zombie child":       `exec python3 -c 'import os,time; os.mkdir("lk/x.lock"); os.fork() or os._exit(7); open(os.environ["P"]+"/pid","w").write(str(os.getpid())); time.sleep(1e6)'`,
}

// maker starts one, and gives the pid whose death ends its mark.
func (m *Mount) maker(script string) int {
	m.t.Helper()
	dir := scratch(m.t)
	require.NoError(m.t, os.Chmod(dir, 0o777))
	m.Start(`export P=%s; %s`, dir, script)
	pid := 0
	m.Until("it has made its mark", func() bool {
		text, err := os.ReadFile(dir + "/pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	m.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// takesMark tries to remove the mark as a stranger of the same user, who is not root, does.
func (m *Mount) takesMark() string {
	m.t.Helper()
	return m.RunAs(65534, `rmdir lk/x.lock 2>&1 || rm lk/x.lock 2>&1`).Out
}

// TestI3_AMarkHoldsAsLongAsItsMakerLives, however it lives: nothing that others do, or that happens to others, ends it.
func TestI3_AMarkHoldsAsLongAsItsMakerLives(t *testing.T) {
	for name, script := range makers {
		t.Run(name, func(t *testing.T) {
			m := markMount(t, "--root-override=false")
			pid := m.maker(script)
			m.Until("it is a mark", func() bool { return len(m.marked()) == 1 })
			other := m.Client()
			other.OK("mkdir lk/other")
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			other.Kill()
			m.Until("the other's is gone", func() bool { return len(m.marked()) == 1 })
			require.Contains(t, m.takesMark(), "Device or resource busy")
			require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
			require.Contains(t, m.takesMark(), "Device or resource busy")
			require.Len(t, m.marked(), 1)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			m.Until("the name is free", func() bool { return m.Run(`mkdir lk/x.lock`).Code == 0 })
		})
	}
}

// TestI3_AMarkSurvivesARestart: who lives has it still; of who has ended meanwhile nobody knows how.
func TestI3_AMarkSurvivesARestart(t *testing.T) {
	for name, script := range map[string]string{"its maker's": `mkdir lk/x.lock; echo $$ > $P/pid; read x; rmdir lk/x.lock; read x`,
		"named in it": `set -C; sleep infinity & echo $! > lk/x.lock; echo $! > $P/pid; exit 0`} {
		for _, how := range []string{"living", "dead"} {
			t.Run(name+", "+how, func(t *testing.T) {
				m := markMount(t)
				pid := m.maker(script)
				m.Until("it is a mark", func() bool { return len(m.marked()) == 1 })
				m.crash()
				if how == "dead" {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
					m.Until("it has ended", func() bool { return zombie(pid) })
				}
				m.start()
				if how == "dead" {
					require.Empty(t, m.marked())
					m.Must(`rm -r lk/x.lock`)
					return
				}
				require.Len(t, m.marked(), 1)
				require.Contains(t, m.takesMark(), "Device or resource busy")
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				m.Until("the name is free", func() bool { return m.Run(`mkdir lk/x.lock`).Code == 0 })
			})
		}
	}
}

// zombie: the process has ended, whether or not somebody has waited for it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestI7_AZombiesMarkIsGone: who was killed has ended, also if nobody waits for it.
func TestI7_AZombiesMarkIsGone(t *testing.T) {
	m := markMount(t)
	pid := m.maker(`bash -c 'mkdir lk/x.lock; echo $$ > $P/pid; kill -9 $$' & exec sleep infinity`)
	m.Until("it is a zombie", func() bool { return zombie(pid) })
	require.Equal(t, 0, m.Run(`mkdir lk/x.lock`).Code)
}

// TestI3_WhoInheritsTheDescriptorMayRemoveTheMark: a program that locks and then goes into the background.
func TestI3_WhoInheritsTheDescriptorMayRemoveTheMark(t *testing.T) {
	m := markMount(t)
	m.Start(`python3 -c 'import os, sys
f = os.open("lk/x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY)
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("in/go"): pass
os.close(f); os.unlink("lk/x.lock"); open("in/done", "w").close()'; read x`)
	m.untilMade("lk/x.lock")
	m.Until("its starter has ended, and the script has it", func() bool { return m.marked()["lk/x.lock"] == "bash" })
	require.NotZero(t, m.Run(`rm lk/x.lock`).Code)
	m.Must(`: > in/go`)
	m.Until("it is removed", func() bool { return m.Run(`test -e in/done`).Code == 0 })
	require.Equal(t, 1, m.Run(`test -e lk/x.lock`).Code)
}

// TestI4_AMarkThatOthersLockStays: who waits for a lock on a file must find the same file.
func TestI4_AMarkThatOthersLockStays(t *testing.T) {
	m := markMount(t)
	p := m.Start(`set -C; echo $$ > lk/x.lock; read x`)
	m.untilMade("lk/x.lock")
	m.Until("it is a mark", func() bool { return len(m.marked()) == 1 })
	c := m.Client()
	c.OK("open x lk/x.lock r", "flock x exnb")
	p.Kill()
	m.Until("its maker's end is seen", func() bool { return len(m.marked()) == 0 })
	m.Must(`test -e lk/x.lock`)
	rival := m.Client()
	rival.OK("open x lk/x.lock r")
	require.Equal(t, "EAGAIN", rival.Call("flock", "x", "exnb"))
}

// TestI8_WhoReadsAPidInALockTakesNothingAway: scripts that look whether a lock's holder lives, and its holder, get on.
func TestI8_WhoReadsAPidInALockTakesNothingAway(t *testing.T) {
	m := markMount(t)
	p := m.Start(`cd in; mkdir x.lock && echo $$ > x.lock/pid; read x; rm -r x.lock; echo $?`)
	m.untilMade("in/x.lock/pid")
	reader := m.Start(`v=$(cat in/x.lock/pid); [ "$v" = %d ] && : > in/seen; read x`, p.PID())
	m.untilMade("in/seen")
	require.Equal(t, strconv.Itoa(p.PID()), m.Must(`cat in/x.lock/pid`))
	require.Contains(t, m.Run(`rm -r in/x.lock`).Out, "busy")
	require.Equal(t, strconv.Itoa(p.PID()), m.Must(`cat in/x.lock/pid`), "nor does who tries")
	p.Say()
	require.Equal(t, result{Out: "0\n"}, p.Wait())
	reader.Say()
}

// TestI3_WhatAPersonLocksAtAPromptIsTheShells: mkdir(1) is a job of its own there, and has ended when the prompt is back.
func TestI3_WhatAPersonLocksAtAPromptIsTheShells(t *testing.T) {
	m := markMount(t)
	x := m.Terminal()
	x.Runs(`mkdir lk/x.lock; echo $$ > lk/pid`)
	require.Equal(t, map[string]string{"lk/x.lock": "bash"}, m.marked())
	require.Contains(t, m.Run(`rmdir lk/x.lock`).Out, "busy")
	x.Runs(`rmdir lk/x.lock; mkdir lk/x.lock`)
	shell, err := strconv.Atoi(m.Must(`cat lk/pid`))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(shell, syscall.SIGKILL))
	m.Until("the name is free", func() bool { return m.Run(`mkdir lk/x.lock`).Code == 0 })
}

// TestI3_APidThatIsUsedAgainIsNobody: a number that was written means who had it then. Who has it later may come and go.
func TestI3_APidThatIsUsedAgainIsNobody(t *testing.T) {
	m := markMount(t)
	again := `again() { echo $((n - 1)) >| /proc/sys/kernel/ns_last_pid; sleep infinity & [ $! = $n ] || exit 9; }; `
	p := m.Start(`%s`, container+`bash -c `+quote(again+`sleep 0 & n=$!; wait
		set -C; echo $n > lk/x.lock; again; kill -9 $n; wait; mkdir lk/one; read x
		rm lk/x.lock; again; echo $n > lk/x.lock; kill -9 $n; wait
		until [ ! -e lk/x.lock ]; do :; done; again; mkdir lk/two; read x`))
	m.untilMade("lk/one")
	require.Contains(t, m.takesMark(), "busy", "its maker lives, whoever has come and gone with that number")
	require.Contains(t, m.marked(), "lk/x.lock")
	p.Say()
	m.untilMade("lk/two")
	m.Must(`set -C; echo $$ > lk/x.lock`)
}
