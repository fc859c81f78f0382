package fusefs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// A claimant may end while the mount that takes over is deciding about what it found, after its claims were found and
// before they are decided about.
func TestAnOwnerEndsDuringTheRecovery(t *testing.T) {
	actors := startActors(t, "producer", "reader")
	s := newStage(t, actors, &scene{})
	s.mount(s.dir, nil)
	for _, name := range []string{"a", "b"} {
		s.put("producer", name, "text")
		s.claim("reader", name)
	}
	s.leave()

	store, err := backing.Open(s.dir, backing.Options{Areas: protocol.Areas(), Before: func(c backing.Call) error {
		if at := c.Object.String(); c.Name == "stat" && (at == "a" || at == "b") { // the first one is being decided about
			endProcess(actors["reader"])
		}
		return nil
	}})
	require.NoError(t, err)
	require.NoError(t, store.Acquire())
	s.store, s.config.Store = store, store
	s.desk = newDesk(s.config)
	s.desk.mu.Lock()
	s.desk.stopped = true
	err = s.desk.recoverLocked()
	s.desk.mu.Unlock()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(s.dir, "a"))
	require.FileExists(t, filepath.Join(s.dir, "b"))
	s.leave()
}

var zombie = regexp.MustCompile(`(?m)^State:\s+[ZX]`)

// endProcess kills a process, if it has not ended, and waits until it is a zombie.
func endProcess(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		if err != nil || zombie.Match(b) {
			return
		}
	}
}
