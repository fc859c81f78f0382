package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// mountPoints of this process's namespace, in mount order.
func mountPoints() ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMountPoints(string(table)), nil
}

// parseMountPoints takes the fifth field of each line, as proc_pid_mountinfo(5)
// describes it, and leaves out lines that have none.
func parseMountPoints(table string) []string {
	var points []string
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, unescapeOctal(fields[4]))
		}
	}
	return points
}

// unescapeOctal undoes the kernel's mangling of blanks and backslashes (\040).
func unescapeOctal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isMountPoint(path string) (bool, error) {
	points, err := mountPoints()
	return slices.Contains(points, path), err
}
