package fusefs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// operationsVariable says how many calls are made (make bounds: ten million).
const operationsVariable = "AIRLOCKFS_OPERATIONS"

func operations(t *testing.T) int { return surroundings.Number(t, operationsVariable, 6000) }

// served is a mount served by this process, which itself makes no call on it.
func served(t *testing.T) (*Mounted, string) {
	t.Helper()
	syscall.Umask(0)
	dir, at := scratch(t), scratch(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	d := deskOn(t, dir, backing.Options{})
	c := d.Config
	c.KeepReplaced, c.Abandoned, c.Quarantine = time.Millisecond, 10*time.Millisecond, protocol.Bounds{Keep: 10 * time.Millisecond}
	c.Linger = time.Minute
	m, err := Mount(c, Options{Facts: report.Mount{Mount: at, Backing: dir}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Unmount(false))
		require.NoError(t, m.Wait())
	})
	return m, at
}

// client is a worker process.
type client struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startClient(t *testing.T, at string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), workerVariable+"="+at), os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
	return c
}

// clients work at the same time.
type clients []*client

// do has each worker do rounds, and returns how many calls all have made so far.
func (all clients) do(rounds int) (calls int) {
	for _, c := range all {
		fmt.Fprintln(c.in, rounds)
	}
	for _, c := range all {
		require.True(c.t, c.out.Scan(), "the worker has ended")
		n, err := strconv.Atoi(c.out.Text())
		require.NoError(c.t, err)
		calls += n
	}
	return calls
}

// atRest waits until what was begun has ended, the tables are as before, and no more is taken than half-way.
func atRest(t *testing.T, m *Mounted, before tables, half usage) {
	t.Helper()
	var beyond []string
	end := time.Now().Add(20 * time.Second)
	for pause := time.NewTicker(50 * time.Millisecond); time.Now().Before(end); <-pause.C {
		if beyond = append(sizesOf(m).beyond(before), usageNow().beyond(half)...); len(beyond) == 0 {
			return
		}
	}
	require.Empty(t, beyond, "what nobody has let go of")
}

// A mount that works for months does not grow with what it did: when all is over, every table is as it was.
func TestTablesAreAsBeforeWhenAllIsOver(t *testing.T) {
	m, at := served(t)
	all := clients{startClient(t, at), startClient(t, at)}
	begun := all.do(20)
	before := sizesOf(m)
	most := operations(t)
	half := sample(t, all, begun, most/2)
	sample(t, all, begun, most)
	atRest(t, m, before, half)
	t.Logf("at rest: %+v, in %d tables", usageNow(), len(before))
}

// usage is what this process takes.
type usage struct {
	heap, resident          int64 // bytes
	goroutines, descriptors int
}

// beyond tells what is more than half-way: goroutines and descriptors come and go with what is under way.
func (u usage) beyond(half usage) (all []string) {
	if u.heap > half.heap+half.heap/4+4<<20 || u.goroutines > half.goroutines+10 || u.descriptors > half.descriptors+10 {
		all = append(all, fmt.Sprintf("%+v, half-way: %+v", u, half))
	}
	return all
}

// sample has the clients work until so many calls were made, and says ten times what that takes.
func sample(t *testing.T, all clients, begun, most int) (u usage) {
	t.Helper()
	for calls, next := 0, 0; calls < most; {
		if calls = all.do(10) - begun; calls >= next || calls >= most {
			u = usageNow()
			t.Logf("after %d calls: %+v", calls, u)
			next = calls + most/10
		}
	}
	return u
}

func usageNow() usage {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	statm, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return usage{heap(), pages * int64(os.Getpagesize()), runtime.NumGoroutine(), len(fds)}
}
