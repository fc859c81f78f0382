package fusefs

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/protocol"
)

// testDesk is a desk on a scratch backing, without a mount: its calls are made by this process.
func testDesk(t *testing.T, rules ...string) (*desk, string) {
	t.Helper()
	return watchedDesk(t, nil, rules...)
}

// watchedDesk is testDesk whose calls on the disk are asked about before they are made.
func watchedDesk(t *testing.T, before func(backing.Call) error, rules ...string) (*desk, string) {
	t.Helper()
	dir := scratch(t)
	return deskOn(t, dir, backing.Options{Before: before}, rules...), dir
}

// Most that is cached.
const manyCallers, manyFolders = 100, 40

func deskOn(t *testing.T, dir string, o backing.Options, rules ...string) *desk {
	t.Helper()
	o.Folders = manyFolders
	o.Areas = append(protocol.Areas(), "folders", "replaced", "tokens")
	store, err := backing.Open(dir, o)
	require.NoError(t, err)
	require.NoError(t, store.Acquire())
	callers, err := caller.New(caller.Options{Log: slog.New(slog.DiscardHandler), Limit: manyCallers})
	require.NoError(t, err)
	t.Cleanup(func() {
		callers.Close()
		require.NoError(t, store.Close())
	})
	var list []protocol.Rule
	for _, text := range rules {
		r, err := protocol.ParseRule(text)
		require.NoError(t, err)
		list = append(list, r)
	}
	table, err := protocol.NewRules(list, protocol.DefaultNames())
	require.NoError(t, err)
	return newDesk(Config{Store: store, Callers: callers, Rules: table, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

// scratch is a folder on tmpfs where there is one: a test that makes thousands of files does not wait for others' syncs.
func scratch(t *testing.T) string {
	t.Helper()
	root := "/dev/shm"
	if _, err := os.Stat(root); err != nil {
		root = ""
	}
	dir, err := os.MkdirTemp(root, "airlockfs-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// The kernel follows one ESTALE per call. What the look-up in between finds is what the open gets, though the name is
// replaced once more before it comes.
func TestSecondLookUpSettlesWhatAnOpenGets(t *testing.T) {
	d, dir := testDesk(t, "**=shared")
	tid := uint32(os.Getpid())
	me := d.Callers.Opener(tid, 0, 0)
	replace := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "f")))
	}
	look := func() uint64 {
		f, err := d.lookup(me, tid, rootID, "f")
		require.NoError(t, err)
		return f.node.id
	}
	replace("one")
	first := look()
	replace("two")
	_, err := d.open(me, tid, first, unix.O_RDONLY)
	require.ErrorIs(t, err, syscall.ESTALE)
	second := look()
	require.NotEqual(t, first, second)
	replace("three")
	require.Equal(t, second, look(), "its further look-ups give the same")
	h, err := d.open(me, tid, second, unix.O_RDONLY)
	require.NoError(t, err)
	buf := make([]byte, 9)
	n, err := d.read(h, buf, 0)
	require.NoError(t, err)
	require.Equal(t, "two", string(buf[:n]))
	d.release(h)
	require.NotEqual(t, second, look())
}

// The same for who has claimed the name and replaces what is in the claim.
func TestSecondLookUpOfAnOwnClaimSettlesWhatAnOpenGets(t *testing.T) {
	d, dir := testDesk(t)
	tid := uint32(os.Getpid())
	me := d.Callers.Opener(tid, 0, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("one"), 0o600))
	replace := func(text string) {
		h, err := d.create(me, tid+1, rootID, "f.tmp", unix.O_WRONLY, d.call(protocol.OpCreate, me))
		require.NoError(t, err)
		_, err = d.write(h, me, []byte(text), 0, false)
		require.NoError(t, err)
		require.NoError(t, d.flush(h, me, protocol.Verdict{}, 0))
		d.release(h)
		require.NoError(t, d.rename(me, backing.Object{Name: "f.tmp"}, backing.Object{Name: "f"}, rootID, rootID, 0))
	}
	look := func() uint64 {
		f, err := d.lookup(me, tid, rootID, "f")
		require.NoError(t, err)
		return f.node.id
	}
	h, err := d.open(me, tid, look(), unix.O_RDONLY)
	require.NoError(t, err)
	defer d.release(h)
	first := look()
	replace("two")
	_, err = d.open(me, tid, first, unix.O_RDONLY)
	require.ErrorIs(t, err, syscall.ESTALE)
	second := look()
	replace("three")
	again, err := d.open(me, tid, second, unix.O_RDONLY)
	require.NoError(t, err, "the kernel asks only once more")
	buf := make([]byte, 9)
	n, err := d.read(again, buf, 0)
	require.NoError(t, err)
	require.Equal(t, "two", string(buf[:n]))
	d.release(again)
}

// Two threads of a program write to one file: the version that the second one was sent to is not complete before it has
// come, though the first one closes it.
func TestAVersionWaitsForTheOpenThatWasSentToIt(t *testing.T) {
	d, dir := testDesk(t)
	me := d.Callers.Opener(uint32(os.Getpid()), 0, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("one"), 0o600))
	sent := func(tid uint32) uint64 {
		f, err := d.lookup(me, tid, rootID, "f")
		require.NoError(t, err)
		_, err = d.open(me, tid, f.node.id, unix.O_RDWR)
		require.ErrorIs(t, err, syscall.ESTALE)
		f, err = d.lookup(me, tid, rootID, "f")
		require.NoError(t, err)
		return f.node.id
	}
	write := func(h *handle, text string, at int64) {
		_, err := d.write(h, me, []byte(text), at, false)
		require.NoError(t, err)
		require.NoError(t, d.flush(h, me, protocol.Verdict{}, 0))
		d.release(h)
	}
	version := sent(1)
	first, err := d.open(me, 1, version, unix.O_RDWR)
	require.NoError(t, err)
	require.Equal(t, version, sent(2))
	write(first, "two", 0)
	second, err := d.open(me, 2, version, unix.O_RDWR)
	require.NoError(t, err)
	write(second, "!", 3)
	claimed := d.table.byID[version].bytes
	require.Equal(t, protocol.Claimed, claimed.item.State)
	text, err := os.ReadFile(filepath.Join(dir, claimed.at.Folder, claimed.at.Name))
	require.NoError(t, err)
	require.Equal(t, "two!", string(text))
}

// A node that has lost the name its thread looked up is not opened under that name.
func TestOpenIsAboutTheNameThatWasLookedUp(t *testing.T) {
	d, dir := testDesk(t)
	tid := uint32(os.Getpid())
	me := d.Callers.Opener(tid, 0, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600))
	f, err := d.lookup(me, tid, rootID, "a")
	require.NoError(t, err)
	require.NoError(t, d.rename(me, backing.Object{Name: "a"}, backing.Object{Name: "b"}, rootID, rootID, 0))
	_, err = d.open(me, tid, f.node.id, unix.O_RDONLY)
	require.ErrorIs(t, err, syscall.ESTALE)
	_, err = d.lookup(me, tid, rootID, "a")
	require.ErrorIs(t, err, syscall.ENOENT)
}

// A writer that was refused when it looked again is told so, also if what it found then is gone.
func TestAWriterIsNotSentToLookAThirdTime(t *testing.T) {
	d, dir := testDesk(t, "**=shared")
	w := newWorker(t, d)
	other, _ := childWorker(t, d)
	replace := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "f")))
	}
	for name, hold := range map[string]func() func(){
		"busy": func() func() {
			h := other.open("f", unix.O_TRUNC)
			return func() { other.close(h) }
		},
		"gone": func() func() { return func() {} },
	} {
		replace("one")
		first := w.node("f")
		replace("two")
		end := hold()
		_, err := d.open(w.p, w.tid, first, unix.O_WRONLY|unix.O_TRUNC)
		require.ErrorIs(t, err, syscall.ESTALE, name)
		second := w.node("f")
		end()
		replace("three")
		h, err := d.open(w.p, w.tid, second, unix.O_WRONLY|unix.O_TRUNC)
		if name == "gone" {
			require.NoError(t, err, "its version was begun when it looked")
			d.release(h)
			continue
		}
		require.Equal(t, fuse.Status(syscall.EBUSY), status(err))
	}
}

// childWorker is another process, and what ends it.
func childWorker(t *testing.T, d *desk) (*worker, func()) {
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	pid := uint32(child.Process.Pid)
	end := sync.OnceFunc(func() { require.NoError(t, errors.Join(in.Close(), child.Wait())) })
	t.Cleanup(end)
	return &worker{t, d, pid, d.Callers.Who(pid, 0, 0)}, end
}

// Of two who look up a parked temp file one makes it his; the other has a file of his own.
func TestWhoComesSecondToAParkedFileMakesHisOwn(t *testing.T) {
	d, _ := testDesk(t)
	d.Abandoned = time.Hour
	me := newWorker(t, d)
	first, end := childWorker(t, d)
	first.file("f.tmp")
	end()
	d.mu.Lock()
	d.endedLocked(protocol.End{Party: first.p.ID, Verdict: protocol.Verdict{Kind: protocol.Clean}})
	d.mu.Unlock()
	found := me.node("f.tmp")
	second, _ := childWorker(t, d)
	h := second.open("f.tmp", unix.O_TRUNC)
	_, err := d.open(me.p, me.tid, found, unix.O_WRONLY|unix.O_TRUNC)
	require.ErrorIs(t, err, syscall.ESTALE)
	_, err = d.lookup(me.p, me.tid, rootID, "f.tmp")
	require.ErrorIs(t, err, syscall.ENOENT, "the kernel asks to make it then")
	me.file("f.tmp")
	second.close(h)
}
