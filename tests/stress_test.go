package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs that were made to find faults of filesystems, for a few seconds each. What they leave behind is for the
// epilogue to find; what they may not do to the daemon is here.

// stressors are those of stress-ng that check what they get, and change names or attributes a lot. In queue folders they
// find what they find elsewhere.
const stressors = "--dentry 1 --dir 1 --dirdeep 1 --dirdeep-bytes 1m --link 1 --symlink 1 --rename 1 --mknod 1 --filename 1 --utime 1 --chmod 1 --xattr 1 " +
	"--flock 1 --lockofd 1 --lockf 1 --fallocate 1 --fallocate-bytes 8m --fpunch 1 --seek 1 --seek-size 8m --getdent 1 --touch 1"

func TestI8_StressorsFindWhatTheyFindElsewhere(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain")
	m.Must("mkdir plain queue")
	before := m.descriptors()
	var all []*Process
	for _, folder := range []string{"plain", "queue"} {
		all = append(all, m.Start("stress-ng %s --verify -t 2 --temp-path %s 2>&1", stressors, quote(m.Path(folder))))
	}
	for _, p := range all {
		r := p.Wait()
		require.Zero(t, r.Code, r.Out)
		require.Contains(t, r.Out, "successful run completed")
	}
	require.Equal(t, "", m.Must("find plain queue -mindepth 1"), "they clear up after themselves, and can")
	m.Until("the daemon has no more open than before", func() bool { return m.descriptors() <= before })
}

// descriptors is how many the daemon has open, but for folders of the backing: those it may keep.
func (m *Mount) descriptors() int {
	m.t.Helper()
	all, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(m.pid()), "fd/*"))
	require.NoError(m.t, err)
	open := 0
	for _, d := range all {
		if path, err := os.Readlink(d); err == nil && !strings.HasPrefix(path, m.Backing) && !strings.Contains(path, "pidfd") {
			open++
		}
	}
	return open
}

// fio writes blocks that carry their checksum, and reads them back.
const fio = "fio --name=job --verify=crc32c --verify_fatal=1 --size=2m --bs=4k --minimal "

func TestI8_WhatFioWritesInPlaceItReadsBack(t *testing.T) {
	m := mount(t, "--rule", "**=plain")
	for _, engine := range []string{"psync", "mmap", "psync --direct=1", "libaio --direct=1 --iodepth=8", "sync --fsync=16"} {
		m.Must("%s --rw=randrw --numjobs=3 --ioengine=%s --directory=%s", fio, engine, quote(m.Dir))
	}
}

func TestI2_WhatFioHandsOverIsWhole(t *testing.T) {
	m := mount(t)
	for _, how := range []string{"--ioengine=psync --fallocate=posix", "--ioengine=mmap"} {
		m.Must("%s --rw=write --do_verify=0 --verify_state_save=0 --filename=%s %s", fio, quote(m.Path("file")), how)
		require.Equal(t, "file", m.Must("ls"))
		m.Must("%s --rw=read --filename=%s --ioengine=psync --readonly", fio, quote(m.Path("file")))
		m.Must("rm file")
	}
	require.Empty(t, m.Status())
}
