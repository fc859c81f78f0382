package show

import (
	"fmt"
	"strconv"
	"time"
)

// Age is a duration in its largest unit, as people say it.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Size is a number of bytes as ls -h has it.
func Size(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10)
	}
	size, unit := float64(n), -1
	for size >= 1<<10 {
		size /= 1 << 10
		unit++
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f%c", size, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f%c", size, "KMGTPE"[unit])
}

// Count is a number with the word for it.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
