package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestI1_AFileThatAnOutsiderWritesIsHiddenUntilItIsClosed: it came into the backing past the mount.
func TestI1_AFileThatAnOutsiderWritesIsHiddenUntilItIsClosed(t *testing.T) {
	m := mount(t)
	o := m.Start(`exec 3> %s; echo first >&3; : > %s; read; echo second >&3`, quote(m.Below("f")), quote(m.Below("begun")))
	m.Until("half of it is written", func() bool { return m.Run("cat begun").Code == 0 })
	m.Must("rm begun")
	require.Empty(t, m.Must("%s", look))
	o.Say()
	require.Zero(t, o.Wait().Code)
	require.Equal(t, wholeSeen, m.Run("%s", look).Out)
}

func TestI1_AnOutsidersTempFileIsHiddenUntilItIsRenamed(t *testing.T) {
	m := mount(t)
	require.NoError(t, os.WriteFile(m.Below("f.tmp"), []byte(whole), 0o644))
	require.Empty(t, m.Must("%s", look))
	require.NotZero(t, m.Run("cat f.tmp").Code)
	require.NoError(t, os.Rename(m.Below("f.tmp"), m.Below("f")))
	require.Equal(t, wholeSeen, m.Run("%s", look).Out)
}

// TestI4_AFileThatAnOutsiderPutsThereIsNotWrittenOver: it appears after the daemon has looked, in the moment before its
// rename. The daemon looks again, and keeps both.
func TestI4_AFileThatAnOutsiderPutsThereIsNotWrittenOver(t *testing.T) {
	m := mount(t)
	p := m.Start("echo mount > f.tmp; mkdir written; read; exec mv f.tmp f") // its owner's: no other rename comes first
	m.Until("it is written", func() bool { return m.Run("rmdir written").Code == 0 })
	m.trace("renameat2", "--inject=renameat2:delay_enter=500ms")
	p.Say()
	m.Until("the daemon is about to rename", func() bool { return m.calling(unix.SYS_RENAMEAT2) })
	require.NoError(t, os.WriteFile(m.Below("f"), []byte("outsider\n"), 0o644))
	require.Zero(t, p.Wait().Code)
	require.Equal(t, "mount", m.Must("cat f"))
	require.Equal(t, "outsider", m.Must(`cat "$(find %s/.airlockfs/replaced -type f)"`, quote(m.Backing)))
}

// calling: a thread of the daemon is in a system call (proc_pid_syscall(5)).
func (m *Mount) calling(number int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", m.pid()))
	require.NoError(m.t, err)
	for _, thread := range threads {
		if call, err := os.ReadFile(thread); err == nil && strings.HasPrefix(string(call), fmt.Sprint(number, " ")) {
			return true
		}
	}
	return false
}

// trace has strace(1) write down which of the daemon's system calls are made, until the test ends. It returns the file.
func (m *Mount) trace(calls string, more ...string) string {
	m.t.Helper()
	file := filepath.Join(scratch(m.t), "trace")
	args := append([]string{"-f", "-e", "trace=" + calls, "-o", file, "-p", fmt.Sprint(m.pid())}, more...)
	strace := exec.Command("strace", args...)
	strace.Stderr = m.log
	require.NoError(m.t, strace.Start())
	m.t.Cleanup(func() {
		_ = strace.Process.Signal(os.Interrupt)
		_ = strace.Wait() // it ends by the signal
	})
	m.Until("the daemon is traced", m.allTraced)
	return file
}

// allTraced: all threads of the daemon are traced; strace takes one after the other.
func (m *Mount) allTraced() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", m.pid()))
	require.NoError(m.t, err)
	for _, thread := range threads {
		if status, err := os.ReadFile(thread); err == nil && strings.Contains(string(status), "TracerPid:\t0\n") {
			return false
		}
	}
	return len(threads) > 0
}

// holds are ways in which an outsider has a file open for writing, before he has changed anything and after.
var holds = map[string]func(t *testing.T, path string) (end func()){
	"open": func(t *testing.T, path string) func() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		return func() { require.NoError(t, f.Close()) }
	},
	"written": func(t *testing.T, path string) func() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString("part\n")
		require.NoError(t, err)
		return func() { require.NoError(t, f.Close()) }
	},
	"mapped": func(t *testing.T, path string) func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		mapped, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return func() { require.NoError(t, unix.Munmap(mapped)) }
	},
}

// takings are calls that would take a file away from an outsider, and what they answer if the caller has seen the name. If a
// look has hidden it, a call that needs it to exist answers ENOENT.
var takings = map[string]string{
	"open x f r": "ENOENT", "open x f wt": "EBUSY", "open x f wct": "EBUSY", "open x f wca": "EBUSY", "open x f rw": "EBUSY", "truncate f 0": "EBUSY",
	"unlink f": "ENOENT", "rename f g": "ENOENT", "link f g": "ENOENT", "exchange f other": "ENOENT",
	"rename other f": "EBUSY", "rename t.tmp f": "EBUSY", "rename link f": "EBUSY", "exchange other f": "EBUSY", "exchange link f": "EBUSY",
}

// mustExist are those of them that need the name.
var mustExist = []string{"open x f wt", "open x f rw", "truncate f 0", "exchange other f", "exchange link f"}

// TestI4_AFileThatAnOutsiderWritesAgainIsNotTakenAway: whatever the call, the outsider goes on with the file that has the
// name. Nobody has looked at it since he opened it, or somebody has tried to read it.
func TestI4_AFileThatAnOutsiderWritesAgainIsNotTakenAway(t *testing.T) {
	m := mount(t)
	p := m.Client()
	for name, hold := range holds {
		for _, first := range []string{":", "cat f"} {
			for call, want := range takings {
				m.Must("mkdir in; cd in; echo whole > f; echo o > other; echo t > t.tmp; ln -s other link")
				path := m.Below("in/f")
				was, err := os.Stat(path)
				require.NoError(t, err)
				end := hold(t, path)
				m.Run("cd in; %s", first)
				p.OK("chdir in")
				if answer := p.Call(callWords(call)...); answer != "ENOENT" || !slices.Contains(mustExist, call) {
					require.Equal(t, want, answer, "%s, %s, %s", name, first, call)
				}
				is, err := os.Stat(path)
				require.NoError(t, err, "%s, %s, %s", name, first, call)
				require.True(t, os.SameFile(was, is), "%s, %s, %s", name, first, call)
				end()
				m.Until("he has let go of it", func() bool { return strings.Contains(m.Run("cat in/f && rm -r in").Out, "whole") }) // a fork of this process may have it, too
				p.OK("chdir ..")
			}
		}
	}
	require.Contains(t, m.refused(p.PID())[0].Detail, "somebody outside the mount has it open for writing")
}
