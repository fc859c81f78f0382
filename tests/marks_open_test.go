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

// daemon makes a lock file, goes into the background, and when told to does something with the descriptor, or nothing. It tells its
// pid, lives on, and when told to removes the lock.
const daemon = `python3 -c 'import os, time
f = os.open("lk/x.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY)
for n in 1, 2:
	if os.fork(): os._exit(0)
	if n == 1: os.setsid()
while not os.path.exists("in/on"): pass
%s
open("in/pid.tmp", "w").write(str(os.getpid())); os.rename("in/pid.tmp", "in/pid")
while not os.path.exists("in/off"): pass
os.unlink("lk/x.lock"); open("in/over", "w").close(); time.sleep(1e6)'`

// does is what it does with the descriptor.
var does = map[string]string{"nothing": `pass`, "writes its pid": `os.write(f, b"%d\n" % os.getpid())`, "closes it": `os.close(f)`}

// daemonOf starts it by a script, and waits until that has ended and the daemon has done what it does.
func (m *Mount) daemonOf(script, does string) int {
	m.t.Helper()
	starter := m.Start(`%s`, fmt.Sprintf(script, fmt.Sprintf(daemon, does)))
	m.Until("who started it has ended", func() bool { return zombie(starter.PID()) })
	m.Must(`: > in/on`)
	m.untilMade("in/pid")
	text, err := os.ReadFile(m.Below("in/pid"))
	require.NoError(m.t, err)
	pid, err := strconv.Atoi(string(text))
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// TestI3_AMarkIsWhoseItsDescriptorIs: its maker has ended well, who started that has ended too, however that was, and a process that
// nobody has heard of has the descriptor. The mark holds, and if he is killed its name is free.
func TestI3_AMarkIsWhoseItsDescriptorIs(t *testing.T) {
	for start, script := range map[string]string{"alone": `exec %s`, "by who fails": `%s; exit 1`, "by who is killed": `%s; kill -9 $$`} {
		for what, does := range does {
			t.Run(start+", does "+what, func(t *testing.T) {
				m := markMount(t, "--root-override=false")
				pid := m.daemonOf(script, does)
				require.Contains(t, m.takesMark(), "Device or resource busy")
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				m.Until("the name is free", func() bool { return m.Run(`mkdir lk/x.lock`).Code == 0 })
			})
		}
	}
}

// TestI8_WhoHasTheDescriptorMayRemoveTheMark, also if he was never seen to use it.
func TestI8_WhoHasTheDescriptorMayRemoveTheMark(t *testing.T) {
	for what, does := range does {
		t.Run(what, func(t *testing.T) {
			m := markMount(t, "--root-override=false")
			m.daemonOf(`exec %s`, does)
			require.Contains(t, m.takesMark(), "Device or resource busy")
			m.Must(`: > in/off`)
			m.untilMade("in/over")
			require.Equal(t, 1, m.Run(`test -e lk/x.lock`).Code)
		})
	}
}

// TestI7_AScriptThatIsKilledBeforeItsToolHasMadeTheMark: who is killed can't remove what its child makes a moment later.
func TestI7_AScriptThatIsKilledBeforeItsToolHasMadeTheMark(t *testing.T) {
	for what, tool := range map[string]string{"mkdir": `exec mkdir x.lock`, "ln": `exec ln -s a x.lock`, "noclobber": `set -C; echo $$ > x.lock`} {
		t.Run(what, func(t *testing.T) {
			m := markMount(t)
			goOn := scratch(t) + "/go"
			p := m.Start(`cd lk; (until [ -e %s ]; do :; done; %s) & mkdir seen; wait`, goOn, tool)
			m.untilMade("lk/seen")
			require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
			m.Until("the script has ended", func() bool { return zombie(p.PID()) })
			require.NoError(t, os.WriteFile(goOn, nil, 0o644))
			m.Until("it has been made, and is gone", func() bool {
				return strings.Contains(m.Run(`cat .airlockfs/events`).Out, "lk/x.lock") && m.Run(`test -e lk/x.lock || test -L lk/x.lock`).Code == 1
			})
		})
	}
}
