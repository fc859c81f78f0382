package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// vitals is what the daemons took of the machine.
type vitals struct {
	daemons          int
	mostRSS, mostFDs int // of all daemons: kilobytes, descriptors
	rss, fds         []int
	plain            int // descriptors that are not of folders, at the last look
}

// begin: another daemon serves now.
func (v *vitals) begin() {
	v.daemons++
	v.rss, v.fds = nil, nil
}

// look measures the daemon, if there is one.
func (v *vitals) look(d *daemon) {
	if d == nil {
		return
	}
	proc := fmt.Sprintf("/proc/%d/", d.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	fds, e := os.ReadDir(proc + "fd")
	_, text, found := strings.Cut(string(status), "VmRSS:")
	if err != nil || e != nil || !found {
		return
	}
	rss, _ := strconv.Atoi(strings.Fields(text)[0])
	v.rss, v.fds = append(v.rss, rss), append(v.fds, len(fds))
	v.mostRSS, v.mostFDs = max(v.mostRSS, rss), max(v.mostFDs, len(fds))
	v.plain = 0
	for _, fd := range fds {
		if st, err := os.Stat(proc + "fd/" + fd.Name()); err == nil && !st.IsDir() {
			v.plain++
		}
	}
}

// The bounds: memory in kilobytes, and descriptors of a daemon that nobody uses any more, beside one for each item that is
// kept. Those of folders do not count: they are a cache, whose bound package backing has.
const (
	boundRSS  = 300 << 10
	boundIdle = 100
)

// complaint says what was too much, "" if nothing was, for a mount that keeps so many items.
func (v *vitals) complaint(items int) string {
	if v.mostRSS > boundRSS {
		return fmt.Sprintf("a daemon took %d MB", v.mostRSS>>10)
	}
	if v.plain > boundIdle+items {
		return fmt.Sprintf("the daemon has %d descriptors open that are not folders, and nobody uses it; it keeps %d items", v.plain, items)
	}
	return ""
}

func (v *vitals) String() string {
	if len(v.rss) == 0 {
		return "no daemon"
	}
	last := len(v.rss) - 1
	return fmt.Sprintf("%d daemons, at most %d MB and %d descriptors; the last one, in %d s: %d → %d MB, %d → %d descriptors at the end, %d of them not folders",
		v.daemons, v.mostRSS>>10, v.mostFDs, last, v.rss[0]>>10, v.rss[last]>>10, v.fds[0], v.fds[last], v.plain)
}
