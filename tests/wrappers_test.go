package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrappers run a command in some other way. kept: what the command read is then its script's, as without a wrapper.
var wrappers = map[string]struct {
	wrap string
	kept bool
}{
	"timeout":                {`timeout 60 %s`, true},
	"timeout --foreground":   {`timeout --foreground 60 %s`, true},
	"timeout around a shell": {`timeout 60 sh -c '%s; true'`, true},
	"sudo":                   {`sudo %s`, true},
	"sudo, another user":     {`sudo -u nobody %s`, true},
	"nohup":                  {`nohup %s`, true},
	"nice, ionice, taskset":  {`nice ionice -c 3 taskset 1 %s`, true},
	"env, stdbuf":            {`env -i PATH=$PATH stdbuf -oL %s`, true},
	"time":                   {`time -p %s`, true},
	"xargs":                  {`echo %s | xargs -P 4 -n 9 env`, true},
	"parallel":               {`parallel --will-cite ::: '%s' < /dev/null`, true},
	"find -exec":             {`find . -name f -exec %s ';'`, true},
	"flock":                  {`flock -s %[2]s %[1]s`, true},
	"flock on the mount":     {`flock f.lock %s`, true},
	"make":                   {`printf 'all:\n\t%%s\n' '%s' | make -s -f -`, true},
	"strace":                 {`strace -qq -o /dev/null %s`, true},
	"a subprocess of python": {`python3 -c "import subprocess; subprocess.run('%s'.split())"`, true},
	"su to root":             {`su -c '%s'`, true},

	"setsid":                              {`setsid -w %s`, false},
	"script":                              {`script -qec '%s' /dev/null < /dev/null`, false},
	"su to another user":                  {`su -s /bin/sh nobody -c '%s'`, false},
	"a subprocess in a session of python": {`python3 -c "import subprocess; subprocess.run('%s'.split(), start_new_session=True)"`, false},
	"a pool of python": {`python3 -c "
import multiprocessing
def read(name): print(open(name).read(), flush=True)
with multiprocessing.get_context('fork').Pool(1) as p: p.map(read, '%s'.split()[1:])"`, false},
}

// TestI3_AClaimGoesThroughWrappers to the script that goes on, or is given back where a session ends.
func TestI3_AClaimGoesThroughWrappers(t *testing.T) {
	for name, w := range wrappers {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			m.Must(`umask 0; echo text > f`)
			marks := scratch(t)
			p := m.Start(`(%s) > %[2]s/out 2>&1; : > %[2]s/read; read; cat f; rm -f f; ls`, fmt.Sprintf(w.wrap+"%.0[2]s", "cat f", marks), marks)
			m.untilMarked(marks, 2)
			require.Contains(t, content(t, filepath.Join(marks, "out")), "text")
			require.Equal(t, w.kept, m.State("f") == "claimed")
			require.Equal(t, w.kept, m.Run(`cat f`).Code != 0)
			p.Say()
			r := p.Wait()
			require.Regexp(t, "^text\n(f.lock\n)?$", r.Out)
		})
	}
}

// TestI2_AWrappedWritersEndCounts: it publishes, or not, as without a wrapper.
func TestI2_AWrappedWritersEndCounts(t *testing.T) {
	for _, name := range []string{"timeout", "sudo", "nohup", "setsid", "script", "xargs", "flock", "strace", "su to another user"} {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			marks := openScratch(t)
			wrap := func(program string) string { return fmt.Sprintf(wrappers[name].wrap+"%.0[2]s", program, marks) }
			script := filepath.Join(marks, "write")
			m.Must(`printf '#!/bin/sh\nexec 3> $1; echo one >&3; : > %[2]s/$1; while [ -d %[2]s ] && [ ! -e %[2]s/go ]; do :; done; echo two >&3; exit $2\n' > %[1]s; chmod 755 %[1]s`, script, marks)
			good, bad := m.Start(`%s`, wrap(script+" good 0")), m.Start(`%s`, wrap(script+" bad 3"))
			t.Cleanup(func() { goOn(t, marks) })
			m.untilMarked(marks, 3)
			m.requireHidden("good", "bad")
			goOn(t, marks)
			good.Wait()
			bad.Wait()
			require.Equal(t, "one\ntwo", m.Must(`cat good`))
			m.requireHidden("bad")
			require.Equal(t, "quarantined", m.State("bad"))
		})
	}
}

// goOn tells processes that look for it, in whatever session they are.
func goOn(t *testing.T, marks string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(marks, "go"), nil, 0o644))
}
