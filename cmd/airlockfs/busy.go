package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// mountUser is a process that keeps a mount busy.
type mountUser struct {
	pid     int
	program string
	what    string
}

// usersOf finds the processes that have something of the mount open, or are in it. It can't see into processes of other
// users unless the caller is root.
func usersOf(root string) []mountUser {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	var all []mountUser
	for _, folder := range folders {
		what := useOf(folder, root)
		pid, err := strconv.Atoi(filepath.Base(folder))
		if what == "" || err != nil || pid == os.Getpid() {
			continue
		}
		program, _ := os.ReadFile(folder + "/comm")
		all = append(all, mountUser{pid, strings.TrimSpace(string(program)), what})
	}
	return all
}

// useOf says how a process uses the mount, "" if it does not. The links are the kernel's own text, so nothing on the
// mount is asked.
func useOf(proc, root string) string {
	for link, what := range map[string]string{"cwd": "has it as its working folder", "root": "has it as its root", "exe": "runs from it"} {
		if target, err := os.Readlink(proc + "/" + link); err == nil && isBelow(target, root) {
			return what
		}
	}
	fds, _ := os.ReadDir(proc + "/fd")
	for _, fd := range fds {
		target, err := os.Readlink(proc + "/fd/" + fd.Name())
		if err == nil && isBelow(target, root) {
			return "has " + show.Name(nameOf(target)) + " open"
		}
	}
	return mappingOf(proc, root)
}

// nameOf leaves out what the kernel says of a file that has no name for it any more: one that was taken has one for its
// owner.
func nameOf(target string) string { return strings.TrimSuffix(target, " (deleted)") }

func mappingOf(proc, root string) string {
	maps, _ := os.ReadFile(proc + "/maps")
	for line := range strings.Lines(string(maps)) {
		if _, path, ok := strings.Cut(line, "/"); ok && isBelow("/"+strings.TrimSuffix(path, "\n"), root) {
			return "has " + show.Name(nameOf("/"+strings.TrimSuffix(path, "\n"))) + " mapped"
		}
	}
	return ""
}

func usersText(users []mountUser) string {
	if len(users) == 0 {
		return "by a process that this user can't see, or by a mount below it"
	}
	var texts []string
	for _, u := range users {
		texts = append(texts, fmt.Sprintf("%s (pid %d) %s", show.Name(u.program), u.pid, u.what))
	}
	return strings.Join(texts, "; ")
}
