package channel

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const patience = 20 * time.Second

// mounted is a memFS that is served in the test's process. When the test ends
// it is unmounted, and nothing may be left of it.
type mounted struct {
	*Conn
	fs     *memFS
	dir    string
	served chan error
}

func serve(t testing.TB, o Options) *mounted {
	dir := t.TempDir()
	checkNothingLeft(t, dir)
	fs := newMemFS(t)
	conn, err := Mount(fs, dir, o)
	require.NoError(t, err)
	fs.conn = conn
	m := &mounted{Conn: conn, fs: fs, dir: dir, served: make(chan error, 1)}
	go func() { m.served <- conn.Serve() }()
	t.Cleanup(func() { m.stop(t) })
	return m
}

func (m *mounted) stop(t testing.TB) {
	assert.NoError(t, m.Unmount(true))
	m.waitServed(t)
	assert.True(t, m.fs.unmounted.Load(), "OnUnmount was not called")
}

// waitServed may be called again after the end.
func (m *mounted) waitServed(t testing.TB) {
	select {
	case err := <-m.served:
		assert.NoError(t, err)
		m.served <- nil
	case <-time.After(patience):
		require.FailNow(t, "Serve did not end")
	}
}

func (m *mounted) path(name string) string { return filepath.Join(m.dir, name) }

// checkNothingLeft registers a check that runs after all cleanups that are
// registered later.
func checkNothingLeft(t testing.TB, dir string) {
	before, others := openFiles(t), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		assert.NotContains(t, mountTable(t), " "+dir+" ")
		goleak.VerifyNone(t, others)
		assert.Eventually(t, func() bool { return slices.Equal(before, openFiles(t)) }, patience, time.Millisecond,
			"descriptors: before %v, after %v", before, openFiles(t))
	})
}

func mountTable(t testing.TB) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	return string(text)
}

// openFiles are the targets of this process's descriptors; the runtime's own
// poller comes and stays as it likes.
func openFiles(t testing.TB) []string {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var targets []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:[event") && !strings.HasPrefix(target, "/proc/") {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets
}

// serveLibrary serves a memFS with the library's own loop.
func serveLibrary(t testing.TB) (dir string, fs *memFS) {
	dir, fs = t.TempDir(), newMemFS(t)
	o := Options{}.withDefaults().protocol()
	o.DirectMountStrict = true
	server, err := fuse.NewServer(fs, dir, o)
	require.NoError(t, err)
	setCloseOnExec(t)
	go server.Serve()
	t.Cleanup(func() {
		assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH))
		server.Wait()
	})
	return dir, fs
}

// setCloseOnExec keeps the device out of client processes, which the library
// does not.
func setCloseOnExec(t testing.TB) {
	for _, fd := range deviceDescriptors(t) {
		unix.CloseOnExec(fd)
	}
}

func deviceDescriptors(t testing.TB) (fds []int) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		var fd int
		_, err := fmt.Sscan(e.Name(), &fd)
		require.NoError(t, err)
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target == "/dev/fuse" {
			fds = append(fds, fd)
		}
	}
	return fds
}

// logBuffer collects what is logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
