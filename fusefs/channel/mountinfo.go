package channel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// mountEntry is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mountEntry struct {
	id         int
	device     string // major:minor of the filesystem
	mountpoint string
	fsType     string
	source     string
}

var errNoMount = errors.New("the mount is not in /proc/self/mountinfo")

// findMount returns the mount with that id in the process's mount namespace.
func findMount(id int) (mountEntry, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mountEntry{}, err
	}
	for line := range strings.Lines(string(text)) {
		if e, ok := parseMountEntry(line); ok && e.id == id {
			return e, nil
		}
	}
	return mountEntry{}, errNoMount
}

// parseMountEntry reads a line such as
//
//	36 35 98:0 /root /mnt\040x rw,noatime shared:1 - ext4 /dev/sda1 rw
//
// where a lone hyphen ends a variable number of optional fields.
func parseMountEntry(line string) (mountEntry, bool) {
	mount, filesystem, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(mount), strings.Fields(filesystem)
	if !ok || len(left) < 6 || len(right) < 2 {
		return mountEntry{}, false
	}
	id, err := strconv.Atoi(left[0])
	if err != nil {
		return mountEntry{}, false
	}
	return mountEntry{
		id: id, device: left[2], mountpoint: unescape(left[4]),
		fsType: right[0], source: unescape(right[1]),
	}, true
}

// unescape undoes the kernel's mangling of space, tab, newline and backslash
// as three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if n, err := octal(s); err == nil {
			b.WriteByte(n)
			s = s[4:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

func octal(s string) (byte, error) {
	if len(s) < 4 || s[0] != '\\' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(s[1:4], 8, 8)
	return byte(n), err
}

// descriptorMountID is the id of the mount that a descriptor is on. Unlike
// statx(2) it asks the filesystem nothing, so it works on a dead mount.
func descriptorMountID(fd int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, err
	}
	return parseMountID(string(text))
}

func parseMountID(fdinfo string) (int, error) {
	for line := range strings.Lines(fdinfo) {
		if value, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("no mnt_id in fdinfo")
}
