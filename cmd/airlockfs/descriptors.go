package main

import "golang.org/x/sys/unix"

// descriptors is what becomes of the descriptors that the process may have open. What is left is for calls under way: when
// no more files can be opened, those that are open must still be closed, published and looked at.
type descriptors struct {
	kept    int // by programs: files that they have open, and what is needed to see the programs' end
	callers int // parties that are cached; each takes three
	folders int // that are cached
}

// shareOut shares out RLIMIT_NOFILE.
func shareOut() (d descriptors, err error) {
	var limit unix.Rlimit
	if err = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return d, err
	}
	all := int(min(limit.Cur, 1<<20))
	return descriptors{kept: all * 3 / 8, callers: min(2000, all/8), folders: min(512, all/16)}, nil
}
