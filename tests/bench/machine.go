package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine describes in one line what the figures were measured on.
func machine() string {
	var name unix.Utsname
	var info unix.Sysinfo_t
	_ = unix.Uname(&name) // neither call can fail with a valid pointer
	_ = unix.Sysinfo(&info)
	gib := float64(info.Totalram) * float64(info.Unit) / (1 << 30)
	return fmt.Sprintf("%s %s, %d × %s, %.0f GiB, %s, %s, backing on tmpfs",
		unix.ByteSliceToString(name.Sysname[:]), unix.ByteSliceToString(name.Release[:]),
		runtime.NumCPU(), processor(), gib, runtime.Version(), bindfsVersion())
}

func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, model, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}

func bindfsVersion() string {
	said, _ := exec.Command("bindfs", "--version").Output() // unknown is no reason not to measure
	return cmp.Or(strings.TrimSpace(string(said)), "bindfs of unknown version")
}
