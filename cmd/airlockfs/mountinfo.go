package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// filesystem is the type of our mounts in /proc/self/mountinfo.
const filesystem = "fuse.airlockfs"

// mountLine is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mountLine struct {
	point, kind, source string
}

// readMounts lists the mounts of this process's namespace; of two on one folder the later one is on top.
func readMounts() ([]mountLine, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("the mounts can't be listed: %w", err)
	}
	return parseMounts(string(text)), nil
}

// parseMounts leaves out lines that it can't read.
func parseMounts(text string) []mountLine {
	var all []mountLine
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if ok && len(left) >= 6 && len(right) >= 2 {
			all = append(all, mountLine{point: unescapeMount(left[4]), kind: right[0], source: unescapeMount(right[1])})
		}
	}
	return all
}

// unescapeMount undoes the kernel's writing of space, tab, newline, backslash and # as three octal digits.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1:i+4]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(s string) bool { return strings.Trim(s, "01234567") == "" && s[0] <= '3' }

// mountOf is the mount that a clean absolute path is on: the innermost one, and on top.
func mountOf(mounts []mountLine, path string) (found mountLine) {
	for _, m := range mounts {
		if isBelow(path, m.point) && len(m.point) >= len(found.point) {
			found = m
		}
	}
	return found
}

// isBelow tells whether a path is the folder or lies in it.
func isBelow(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// resolve makes a path absolute and free of symlinks but in its last part, which need not exist or be visible.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs, nil // it can't be on a mount of ours, or lies in a folder that is gone
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}
