package main

import (
	"fmt"
	"strings"
)

// The calls of the backing that fail, and how.
var (
	failingCalls = []string{"rename", "rename", "create", "link", "mkdir", "note", "fdatasync", "unlink", "stat", "open"}
	errnos       = []string{"EIO", "EIO", "ENOSPC", "EDQUOT", "EMFILE", "ENOMEM"}
)

// chooseFaults has every second daemon's disk fail, or take its time, at a few calls. "": it is sound.
func (d *driver) chooseFaults() string {
	if d.failing == "" || d.rand.IntN(2) == 0 {
		return ""
	}
	d.count["disk fails"]++
	var rules []string
	for range 1 + d.rand.IntN(4) {
		call, first := failingCalls[d.rand.IntN(len(failingCalls))], 30+d.rand.IntN(500)
		fault := errnos[d.rand.IntN(len(errnos))]
		if d.rand.IntN(5) == 0 {
			fault = "delay=30ms"
		}
		rules = append(rules, fmt.Sprintf("%s:%s:%d-%d", call, fault, first, first+d.rand.IntN(5)))
	}
	return strings.Join(rules, ",")
}
