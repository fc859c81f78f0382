package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// explainInUse says which daemon has the backing, and how to end it.
func explainInUse(path string) error {
	who := "another daemon"
	if pid := holderOf(path); pid > 0 {
		who = fmt.Sprintf("the daemon with pid %d", pid)
	}
	mounts, _ := readMounts() // without them the daemon has no mountpoint that we could name
	for _, m := range mounts {
		if m.kind == filesystem && real(m.source) == real(path) {
			return failf(exitBusy, "%w: %s: %s serves it on %s: airlockfs umount %s first", backing.ErrInUse, show.Name(path), who,
				show.Name(m.point), show.Argument(m.point))
		}
	}
	return failf(exitBusy, "%w: %s: %s serves it, and no mount of it can be seen from here: if that was unmounted lazily, the daemon ends with the last program that uses it: end that first",
		backing.ErrInUse, show.Name(path), who)
}

// real is a path without symlinks, or as it is if it can't be asked.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// holderOf is the pid of the daemon that has locked a backing, 0 if it can't be seen.
func holderOf(path string) int {
	var st unix.Stat_t
	text, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Stat(filepath.Join(path, backing.Control), &st) != nil {
		return 0
	}
	pid, _ := lockHolder(string(text), st.Ino)
	return pid
}

// isServed tells whether a daemon holds the lock of a control folder, by /proc/locks (proc_locks(5)): asking for the
// lock would keep a daemon out that starts at this moment.
func isServed(control backing.ID) bool {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	_, held := lockHolder(string(text), control.Ino)
	return held
}

// lockHolder finds who holds an exclusive flock on an inode. The pid is 0 or less if it is of another namespace. The
// device is left out: on btrfs the one in the list is not that of stat(2).
func lockHolder(locks string, inode uint64) (pid int, held bool) {
	for line := range strings.Lines(locks) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		at := f[5][strings.LastIndexByte(f[5], ':')+1:]
		if at == strconv.FormatUint(inode, 10) {
			pid, _ = strconv.Atoi(f[4])
			return pid, true
		}
	}
	return 0, false
}
