package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// end is the epilogue of every test. When the processes of the test have ended, nothing of what they held is left: no
// unfinished or claimed item, no descriptor on a file of the backing. After the unmount nothing is left at all: no mount,
// no process, no violation that `airlockfs check` finds.
func (m *Mount) end() {
	if m.t.Failed() {
		m.t.Logf("the daemon's log:\n%s", tail(m.log.String(), 4000))
	}
	if mounted(m.Dir) {
		if m.t.Failed() || m.dead() {
			_ = syscall.Unmount(m.Dir, syscall.MNT_DETACH)
			_ = m.daemon.Process.Kill()
			return
		}
		m.atRest()
		m.stop()
		m.nothingIsHeld()
	}
	m.healthy()
}

// atRest waits until everybody's end is settled. What a program holds ends with it, whatever the test was about.
func (m *Mount) atRest() {
	m.t.Helper()
	m.Until("what the test's processes held is settled", func() bool { return len(m.held()) == 0 })
	m.Until("no file of the backing is open", func() bool { return len(m.openFiles()) == 0 })
	require.Empty(m.t, m.children(m.pid()), "processes that the daemon has started")
}

// held are the items that somebody writes or has claimed.
func (m *Mount) held() []string {
	var all []string
	for path, items := range m.Status() {
		for _, i := range items {
			if i.State == "staged" || i.State == "claimed" {
				all = append(all, path)
			}
		}
	}
	return all
}

// openFiles are the regular files below the backing that the daemon has open. Folders it may keep.
func (m *Mount) openFiles() []string {
	var all []string
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", m.pid()))
	require.NoError(m.t, err)
	require.NotEmpty(m.t, descriptors)
	for _, d := range descriptors {
		path, err := os.Readlink(d)
		if err != nil || !strings.HasPrefix(path, m.Backing+"/") {
			continue // it was closed meanwhile, or is something else
		}
		if fi, err := os.Stat(d); err == nil && fi.Mode().IsRegular() {
			all = append(all, path)
		}
	}
	return all
}

// nothingIsHeld: the areas of unfinished and claimed items are empty.
func (m *Mount) nothingIsHeld() {
	m.t.Helper()
	for _, area := range []string{"staging", "claimed"} {
		err := filepath.WalkDir(m.Below(".airlockfs/"+area), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				m.t.Errorf("%s is left behind", path)
			}
			return err
		})
		require.NoError(m.t, err)
	}
}

// healthy: neither the daemon nor `airlockfs check` complains.
func (m *Mount) healthy() {
	m.t.Helper()
	if strings.Contains(m.log.String(), "DATA RACE") || strings.Contains(m.log.String(), "panicked") {
		m.t.Errorf("the daemon has a bug:\n%s", tail(m.log.String(), 8000))
	}
	require.False(m.t, mounted(m.Dir), "the mount is left behind")
	if out, err := m.command(binary, "check", m.Backing).CombinedOutput(); err != nil {
		m.t.Errorf("airlockfs check: %v\n%s", err, out)
	}
}
