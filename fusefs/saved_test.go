package fusefs

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

func TestASyncCountsForWhatWasWrittenBeforeIt(t *testing.T) {
	var s saved
	require.False(t, s.owing())
	s.changed()
	require.NoError(t, s.save(func() error { s.changed(); return nil }))
	require.True(t, s.owing(), "bytes written while it ran may not be on the disk")
	require.NoError(t, s.save(func() error { return nil }))
	require.False(t, s.owing())
	require.NoError(t, s.save(func() error { t.Error("nothing is owing"); return nil }))
}

func TestWhoseBytesAnotherMakesDurableWaitsForHim(t *testing.T) {
	var s saved
	s.changed()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ended := false
	go func() {
		defer close(done)
		assert.NoError(t, s.save(func() error { close(begun); <-end; ended = true; return nil }))
	}()
	<-begun
	go close(end)
	require.NoError(t, s.save(func() error { t.Error("the bytes are made durable twice"); return nil }))
	require.True(t, ended)
	<-done
}

// The kernel reports a failed sync once; the next one succeeds, without the bytes.
func TestASyncThatFailedIsNotTriedAgain(t *testing.T) {
	var s saved
	s.changed()
	require.ErrorIs(t, s.save(func() error { return syscall.EIO }), syscall.EIO)
	again := func() error { t.Error("it is tried again"); return nil }
	require.ErrorIs(t, s.save(again), syscall.EIO)
	require.ErrorIs(t, s.saveAll(again), syscall.EIO)
	s.anew()
	require.NoError(t, s.save(func() error { return nil }), "what was lost is cut off")
}

// disk is what a test asks about, and learns of, the calls of a desk.
type disk struct {
	mu     sync.Mutex
	owing  bool // bytes were written and not made durable since
	early  []string
	synced int
	fail   string // the call that fails
}

func (k *disk) before(c backing.Call) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	public := !strings.HasPrefix(c.To.Folder, backing.Control) && c.To != backing.Object{}
	switch c.Name {
	case "write", "copy", "truncate", "fallocate":
		k.owing = true
	case "fdatasync", "fsync":
		if c.Detail == "folder" {
			break
		}
		if k.fail == c.Name {
			return syscall.EIO
		}
		k.owing = false
		k.synced++
	case "rename", "link":
		if k.owing && public {
			k.early = append(k.early, c.String())
		}
	}
	return nil
}

// worker is a program that makes calls on a desk. Paths have at most one folder.
type worker struct {
	t   *testing.T
	d   *desk
	tid uint32
	p   *protocol.Party
}

func newWorker(t *testing.T, d *desk) *worker {
	tid := uint32(os.Getpid())
	return &worker{t, d, tid, d.Callers.Opener(tid, 0, 0)}
}

func (w *worker) split(path string) (uint64, backing.Object) {
	folder, name, _ := cutLast(path)
	if folder == "" {
		return rootID, backing.Object{Name: name}
	}
	f, err := w.d.lookup(w.p, w.tid, rootID, folder)
	require.NoError(w.t, err)
	return f.node.id, backing.Object{Name: name}
}

func (w *worker) create(path string) *handle {
	parent, at := w.split(path)
	c := w.d.call(protocol.OpCreate, w.p)
	c.mode = 0o600
	h, err := w.d.create(w.p, w.tid, parent, at.Name, unix.O_RDWR, c)
	require.NoError(w.t, err)
	return h
}

// open opens a name for writing; the kernel looks again once.
func (w *worker) open(path string, flags uint32) *handle {
	parent, at := w.split(path)
	f, err := w.d.lookup(w.p, w.tid, parent, at.Name)
	require.NoError(w.t, err)
	h, err := w.d.open(w.p, w.tid, f.node.id, unix.O_RDWR|flags)
	if err == syscall.ESTALE {
		f, err = w.d.lookup(w.p, w.tid, parent, at.Name)
		require.NoError(w.t, err)
		h, err = w.d.open(w.p, w.tid, f.node.id, unix.O_RDWR|flags)
	}
	require.NoError(w.t, err)
	return h
}

func (w *worker) write(h *handle, mapped bool) {
	_, err := w.d.write(h, w.p, []byte("text"), 0, mapped)
	require.NoError(w.t, err)
}

func (w *worker) close(h *handle) {
	require.NoError(w.t, w.d.flush(h, w.p, protocol.Verdict{}, 0))
	w.d.release(h)
}

func (w *worker) file(path string) {
	h := w.create(path)
	w.write(h, false)
	w.close(h)
}

func (w *worker) rename(from, to string) error {
	a, from1 := w.split(from)
	b, to1 := w.split(to)
	return w.d.saveFirst(0, func() error { return w.d.rename(w.p, from1, to1, a, b, 0) })
}

// waysToPublish are the ways in which an item becomes public under the name f.
var waysToPublish = map[string]func(w *worker){
	"closed":              func(w *worker) { w.file("f") },
	"a temp file renamed": func(w *worker) { w.file("f.tmp"); require.NoError(w.t, w.rename("f.tmp", "f")) },
	"a temp file emptied": func(w *worker) {
		w.file("f.tmp")
		w.close(w.open("f.tmp", unix.O_TRUNC))
		require.NoError(w.t, w.rename("f.tmp", "f"))
	},
	"moved from plain": func(w *worker) { w.file("plain/f"); require.NoError(w.t, w.rename("plain/f", "f")) },
	"moved and renamed": func(w *worker) {
		w.file("plain/f")
		require.NoError(w.t, w.rename("plain/f", "f.tmp"))
		require.NoError(w.t, w.rename("f.tmp", "f"))
	},
	"moved into shared": func(w *worker) { w.file("plain/f"); require.NoError(w.t, w.rename("plain/f", "shared/f")) },
	"appended to": func(w *worker) {
		w.file("shared/f")
		h := w.open("shared/f", unix.O_APPEND)
		w.write(h, false)
		w.close(h)
	},
	"written over": func(w *worker) {
		w.file("shared/f")
		h := w.open("shared/f", unix.O_TRUNC)
		w.write(h, false)
		w.close(h)
	},
	"written over by rename": func(w *worker) { w.file("f"); w.file("f.tmp"); require.NoError(w.t, w.rename("f.tmp", "f")) },
	"linked": func(w *worker) {
		w.file("f.tmp")
		f, err := w.d.lookup(w.p, w.tid, rootID, "f.tmp")
		require.NoError(w.t, err)
		_, err = w.d.link(w.p, f.node.id, rootID, "f")
		require.NoError(w.t, err)
	},
	"a page written after the close": func(w *worker) {
		h := w.create("f")
		require.NoError(w.t, w.d.flush(h, w.p, protocol.Verdict{}, 0))
		w.write(h, true)
		w.d.release(h)
	},
	"two writers, one of whom syncs": func(w *worker) {
		one := w.create("f.tmp")
		two := w.open("f.tmp", 0)
		w.write(one, false)
		require.NoError(w.t, w.d.fsync(one))
		w.write(two, false)
		w.close(one)
		w.close(two)
		require.NoError(w.t, w.rename("f.tmp", "f"))
	},
	"moved from plain while open": func(w *worker) {
		h := w.create("plain/f")
		require.NoError(w.t, w.rename("plain/f", "f"))
		w.write(h, false)
		w.close(h)
	},
	"truncated by path": func(w *worker) {
		w.file("shared/f")
		parent, _ := w.split("shared/f")
		f, err := w.d.lookup(w.p, w.tid, parent, "f")
		require.NoError(w.t, err)
		require.ErrorIs(w.t, w.d.setSize(w.p, w.tid, f.node.id, 0, 2), syscall.ESTALE, "the name means another version")
	},
	"ordered": func(w *worker) {
		h := w.create("f")
		w.write(h, false)
		w.d.taint(h.node, protocol.Taint{Kind: protocol.TaintKilled})
		w.close(h)
		out := w.d.order(w.p, &report.Order{Do: "requeue", Path: "f"})
		require.True(w.t, out.Done, out.Refused)
	},
}

func TestI4_BytesAreDurableBeforeTheyArePublic(t *testing.T) {
	for name, publish := range waysToPublish {
		t.Run(name, func(t *testing.T) {
			k := &disk{}
			d, dir := watchedDesk(t, k.before, "plain/**=plain", "shared/**=shared")
			require.NoError(t, os.Mkdir(filepath.Join(dir, "plain"), 0o700))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "shared"), 0o700))
			publish(newWorker(t, d))
			found, err := filepath.Glob(filepath.Join(dir, "*", "f"))
			require.NoError(t, err)
			_, err = os.Stat(filepath.Join(dir, "f"))
			require.True(t, err == nil || len(found) == 1, "nothing is public")
			assert.Empty(t, k.early)
			assert.NotZero(t, k.synced)
		})
	}
}

// A version that was copied and then not written to, because the write failed, is complete all the same.
func TestI4_BytesThatWereCopiedAreDurableBeforeTheyArePublic(t *testing.T) {
	k := &disk{}
	d, dir := watchedDesk(t, k.before, "shared/**=shared")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shared"), 0o700))
	w := newWorker(t, d)
	w.file("shared/f")
	h := w.open("shared/f", unix.O_APPEND)
	require.ErrorIs(t, d.resize(h, -1), syscall.EINVAL)
	require.True(t, k.owing)
	w.close(h)
	require.Empty(t, k.early)
	require.False(t, k.owing)
}

// What an earlier mount left unfinished may never have reached the disk, and nothing is written to it any more.
func TestI4_WhatAnEarlierMountLeftIsDurableBeforeItIsPublic(t *testing.T) {
	k := &disk{}
	d, _ := watchedDesk(t, k.before)
	w := newWorker(t, d)
	h := w.create("f.part")
	w.write(h, false)
	h.close() // the daemon is killed
	k.synced = 0
	d.Abandoned = time.Hour
	again := newDesk(d.Config)
	again.Abandoned = time.Hour
	again.mu.Lock()
	require.NoError(t, again.recoverLocked())
	again.mu.Unlock()
	w = newWorker(t, again)
	w.close(w.open("f.part", 0))
	require.NoError(t, w.rename("f.part", "f"))
	require.Empty(t, k.early)
	require.Equal(t, 1, k.synced)
}

func TestI4_BytesThatCouldNotBeMadeDurableAreNotPublic(t *testing.T) {
	k := &disk{fail: "fdatasync"}
	d, dir := watchedDesk(t, k.before, "plain/**=plain")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plain"), 0o700))
	w := newWorker(t, d)
	h := w.create("f")
	w.write(h, false)
	require.ErrorIs(t, d.flush(h, w.p, protocol.Verdict{}, 0), syscall.EIO)
	k.fail = "" // the kernel reports it once
	require.ErrorIs(t, d.fsync(h), syscall.EIO)
	require.Equal(t, syscall.EIO, syscall.Errno(status(d.flush(h, w.p, protocol.Verdict{}, 0))))
	d.release(h)
	require.Equal(t, protocol.Quarantined, h.node.bytes.item.State)

	k.fail = "fdatasync"
	w.file("plain/f")
	require.ErrorIs(t, w.rename("plain/f", "f"), syscall.EIO)
	k.fail = ""
	require.ErrorIs(t, w.rename("plain/f", "f"), syscall.EIO)
	require.FileExists(t, filepath.Join(dir, "plain", "f"))
	require.NoFileExists(t, filepath.Join(dir, "f"))
}
