package tests

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filesystem is one that power is cut on.
type filesystem struct {
	name, size string
	mkfs       []string
	options    string // of the mount of a copy
	must       bool   // where it can't be tried the test fails; else it says so
}

var filesystems = []filesystem{
	{name: "ext4", size: "64M", mkfs: []string{"mkfs.ext4", "-q", "-F"}, options: "loop", must: true},
	{name: "xfs", size: "320M", mkfs: []string{"mkfs.xfs", "-q", "-f"}, options: "loop,nouuid"},
	{name: "btrfs", size: "128M", mkfs: []string{"mkfs.btrfs", "-q", "-f"}, options: "loop"},
}

// disk is a filesystem in an image file.
type disk struct {
	t          *testing.T
	fs         filesystem
	image, dir string
}

// newDisk makes and mounts one; nil: it can't be tried here.
func newDisk(t *testing.T, fs filesystem) *disk {
	t.Helper()
	d := &disk{t, fs, filepath.Join(scratch(t), "image"), scratch(t)}
	tool(t, "truncate", "-s", fs.size, d.image)
	out, err := exec.Command(fs.mkfs[0], append(fs.mkfs[1:], d.image)...).CombinedOutput()
	if err == nil {
		out, err = d.tryMount("loop")
	}
	if err != nil && !fs.must {
		t.Logf("NOT TRIED on %s: %v: %s", fs.name, err, out)
		return nil
	}
	require.NoError(t, err, "%s", out)
	t.Cleanup(d.unmount)
	return d
}

// tool runs a command that must not fail.
func tool(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command("timeout", append([]string{"-s", "KILL", "60"}, command...)...).CombinedOutput()
	require.NoError(t, err, "%v: %s", command, out)
	return strings.TrimSpace(string(out))
}

func (d *disk) tryMount(options string) ([]byte, error) {
	return exec.Command("mount", "-t", d.fs.name, "-o", options, d.image, d.dir).CombinedOutput()
}

func (d *disk) unmount() {
	if mounted(d.dir) { // a process that another test has just forked may hold a descriptor of ours until it execs
		require.Eventually(d.t, func() bool { return exec.Command("umount", d.dir).Run() == nil }, patience, 10*time.Millisecond)
	}
	if d.fs.name == "btrfs" {
		tool(d.t, "btrfs", "device", "scan", "--forget") // else it does not let an older copy in
	}
}

// written is what was written to the disk so far: how often, and how much is on its way.
func (d *disk) written() string {
	d.t.Helper()
	device := filepath.Base(tool(d.t, "findmnt", "-n", "-o", "SOURCE", d.dir))
	stat, err := os.ReadFile("/sys/block/" + device + "/stat")
	require.NoError(d.t, err)
	f := strings.Fields(string(stat))
	return fmt.Sprint(f[4], " writes, ", f[8], " in flight, ", f[15], " flushes")
}

// cut is the image as it is on the disk now, as if the power failed: what was not written back is not in it. A copy during
// which something was written counts for nothing.
func (d *disk) cut(to string) {
	d.t.Helper()
	for range 100 {
		before := d.written()
		tool(d.t, "cp", "--sparse=always", d.image, to)
		if before == d.written() && strings.Contains(before, " 0 in flight") {
			return
		}
	}
	d.t.Fatal("something is written all the time")
}

// version is the content of the n-th version, of several blocks.
func version(n int) string { return strings.Repeat(fmt.Sprintf("version %d\n", n), 2000) }

// moment is one when the power is cut: what is public then, by name, and what is about to be.
type moment struct {
	call, image string
	whole       map[string]int
	name        string
	version     int
}

// may tells whether a version may be found under a name, -1: none. lost: what was public may be gone if it was new, and be
// as before if it was written over.
func (c moment) may(name string, found int, lost bool) bool {
	n, public := c.whole[name]
	switch {
	case public && found == n, !public && found == -1, name == c.name && found == c.version:
		return true
	case name == "replaced":
		return lost && found < n
	}
	return lost && found == -1
}

// cutRun delivers files, and cuts the power at some of its calls.
type cutRun struct {
	*Mount
	disk    *disk
	client  *Client
	calls   int
	at      []int // the calls after which the power is cut; nil: all
	now     moment
	moments []moment
}

// after is a moment: the call has returned.
func (d *cutRun) after(call string, gives string) {
	d.t.Helper()
	require.Equal(d.t, gives, d.client.Call(toAny(strings.Fields(call))...), call)
	d.calls++
	if d.at != nil && !slices.Contains(d.at, d.calls) {
		return
	}
	c := d.now
	c.call, c.image, c.whole = fmt.Sprint(d.calls, ", ", call), fmt.Sprint(d.disk.image, d.calls), maps.Clone(d.now.whole)
	d.disk.cut(c.image)
	d.moments = append(d.moments, c)
}

// deliver delivers one more in each way, and waits until each is public.
func (d *cutRun) deliver(n int) {
	d.t.Helper()
	size := fmt.Sprint(len(version(n)), " bytes, 1 links")
	for _, name := range []string{fmt.Sprint("close", n), fmt.Sprint("rename", n), "replaced"} {
		d.now.name, d.now.version = name, n
		as := name
		if !strings.HasPrefix(name, "close") {
			as += ".tmp"
		}
		d.after("open w "+as+" wct", "")
		require.Empty(d.t, d.client.Call("write", "w", version(n)))
		d.after("close w", "")
		if as != name {
			d.after("stat "+as, size)
			require.Empty(d.t, d.client.Call("rename", as, name))
		}
		require.Equal(d.t, size, d.client.Call("stat", name))
		d.now.whole[name] = n
		d.after("stat "+name, size)
	}
}

// cutRounds is how often a run delivers.
const cutRounds, callsOfARound = 3, 11

// someCalls are the calls after which the power is cut; AIRLOCKFS_CUTS=all: after each.
func someCalls() (at []int) {
	if os.Getenv("AIRLOCKFS_CUTS") == "all" {
		return nil
	}
	const few = 4
	for n := range few {
		stride := cutRounds * callsOfARound / few
		at = append(at, 1+n*stride+rand.IntN(stride))
	}
	return at
}

// afterCuts runs on a disk, cuts the power, and hands each copy, mounted and served again, to judge.
func afterCuts(t *testing.T, fs filesystem, sync string, judge func(m *Mount, c moment)) {
	disk := newDisk(t, fs)
	if disk == nil {
		return
	}
	d := &cutRun{disk: disk, at: someCalls(), now: moment{whole: map[string]int{}}}
	d.Mount = &Mount{t: t, Backing: filepath.Join(disk.dir, "files"), Dir: scratch(t), flags: []string{"--sync", sync}}
	require.NoError(t, os.Mkdir(d.Backing, 0o755))
	d.start()
	tool(t, "sync", "-f", disk.dir) // a power cut before there is anything loses nothing
	d.client = d.Client()
	for n := range cutRounds {
		d.deliver(n)
	}
	require.Equal(t, cutRounds*callsOfARound, d.calls)
	d.client.Kill()
	d.stop()
	disk.unmount()
	for _, c := range d.moments {
		powerIsBack(t, fs, c.image, func(m *Mount) {
			t.Log("the power was cut after call ", c.call)
			judge(m, c)
		})
	}
}

// powerIsBack mounts a copy, which replays its journal, checks and serves it.
func powerIsBack(t *testing.T, fs filesystem, image string, judge func(m *Mount)) {
	t.Helper()
	disk := &disk{t, fs, image, scratch(t)}
	out, err := disk.tryMount(fs.options)
	require.NoError(t, err, "%s", out)
	defer disk.unmount()
	m := &Mount{t: t, Backing: filepath.Join(disk.dir, "files"), Dir: scratch(t)}
	m.start()
	defer func() {
		if mounted(m.Dir) {
			_ = syscall.Unmount(m.Dir, syscall.MNT_DETACH)
			m.waitEnd()
		}
	}()
	judge(m)
	m.stop()
	m.healthy()
}

// versionOf is the version that is there whole, -1 if the name is not there.
func (m *Mount) versionOf(name string) int {
	m.t.Helper()
	text, err := os.ReadFile(m.Below(name))
	if os.IsNotExist(err) {
		return -1
	}
	require.NoError(m.t, err)
	var n int
	_, err = fmt.Sscanf(string(text), "version %d\n", &n)
	require.NoError(m.t, err, "%s is torn: %q", name, tail(string(text), 40))
	require.True(m.t, version(n) == string(text), "%s is torn", name)
	return n
}

func onEachDisk(t *testing.T, sync string, judge func(m *Mount, c moment)) {
	for _, fs := range filesystems {
		t.Run(fs.name, func(t *testing.T) { afterCuts(t, fs, sync, judge) })
	}
}

// judge compares all names that a run ever delivers.
func (m *Mount) judge(c moment, lost bool) {
	m.t.Helper()
	for n := range cutRounds {
		for _, name := range []string{fmt.Sprint("close", n), fmt.Sprint("rename", n), "replaced"} {
			found := m.versionOf(name)
			require.True(m.t, c.may(name, found, lost), "%s: version %d, %+v", name, found, c)
		}
	}
}

// TestI4_PowerCutWithSyncFull: what was public when the power failed is there whole.
func TestI4_PowerCutWithSyncFull(t *testing.T) {
	t.Parallel()
	onEachDisk(t, "full", func(m *Mount, c moment) { m.judge(c, false) })
}

// TestI4_PowerCutWithSyncPublish: what was public is there whole or, if it is among the last, not at all; of what was
// written over one version is there, never nothing.
func TestI4_PowerCutWithSyncPublish(t *testing.T) {
	t.Parallel()
	onEachDisk(t, "publish", func(m *Mount, c moment) {
		m.judge(c, true)
		if c.whole["replaced"] > 0 {
			require.GreaterOrEqual(m.t, m.versionOf("replaced"), 0)
		}
	})
}

// TestPowerCutWithoutSync is the control: a copy of the image without what was not written back is a power cut.
func TestPowerCutWithoutSync(t *testing.T) {
	t.Parallel()
	lost := 0
	afterCuts(t, filesystems[0], "none", func(m *Mount, c moment) {
		for name := range c.whole {
			if file, err := os.Stat(m.Below(name)); err != nil || file.Size() == 0 {
				lost++
			}
		}
	})
	require.NotZero(t, lost, "nothing was lost though nothing was made durable")
}
