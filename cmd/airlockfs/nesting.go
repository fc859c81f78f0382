package main

import "github.com/airlockfs/airlockfs/cmd/airlockfs/show"

// checkNesting refuses places in which folders would lie within themselves, or have two daemons.
func checkNesting(mounts []mountLine, from, at string) error {
	from, at = real(from), real(at)
	switch {
	case from == "/":
		return failf(exitBacking, "/ can't be the backing: name a folder that holds nothing but files to hand over")
	case at == "/":
		return failf(exitMount, "/ can't be the mountpoint: everything would be hidden by it. Name a folder")
	case at != from && isBelow(at, from):
		return failf(exitMount, "the mountpoint %s lies in the backing %s: name a folder outside, or the backing itself", show.Name(at), show.Name(from))
	}
	for _, m := range mounts {
		if m.kind != filesystem || m.point == at { // a dead mount that is replaced, or what a later check says more of
			continue
		}
		source := real(m.source)
		if source != from && (isBelow(from, source) || isBelow(source, from)) {
			return failf(exitBacking, "the backing %s and %s, which is the backing of the mount %s, lie within one another: two daemons would meet in one folder. Name another folder, or use that mount",
				show.Name(from), show.Name(source), show.Name(m.point))
		}
	}
	return nil
}

// configInBacking warns of a configuration that programs can change, or take.
func configInBacking(file, from string) []string {
	if file == "" || !isBelow(real(file), real(from)) {
		return nil
	}
	return []string{"the configuration " + show.Name(file) + " lies in the backing, so programs on the mount can change or take it: keep it elsewhere"}
}

// mountedInBacking warns of folders that are other filesystems: what is in them can't be handed over.
func mountedInBacking(mounts []mountLine, from, at string) []string {
	var warnings []string
	from, at = real(from), real(at)
	for _, m := range mounts {
		if m.point != from && m.point != at && isBelow(m.point, from) {
			warnings = append(warnings, show.Name(m.point)+" is a filesystem of its own, mounted in the backing: it can't be used through the mount")
		}
	}
	return warnings
}
