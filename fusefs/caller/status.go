package caller

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errFormat means that procfs answered with something that is not the file's documented format.
var errFormat = errors.New("caller: procfs file not understood")

// status is what we take from /proc/PID/status, the one file about a living process that is always safe to read.
// Ids are as the reader's pid namespace numbers them, 0 if they are invisible there.
type status struct {
	name    string // of the main thread, unescaped
	state   byte   // of the main thread. T, t: stopped, by a signal or a debugger
	tgid    int
	ppid    int
	uid     uint32 // file system user id, the one that requests carry
	gid     uint32
	group   int
	session int
	groups  []uint32
	numbers []int  // process id in each pid namespace, from the reader's to its own
	ignored uint64 // signals, the lowest bit is number 1
}

func readStatus(dir int, name string) (status, error) {
	text, err := readAt(dir, name)
	if err != nil {
		return status{}, err
	}
	return parseStatus(text)
}

// parseStatus reads the lines described in proc_pid_status(5).
func parseStatus(text []byte) (status, error) {
	st := status{}
	for line := range bytes.Lines(text) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if found && !st.set(key, value) {
			return status{}, errFormat
		}
	}
	if st.tgid <= 0 {
		return status{}, errFormat
	}
	return st, nil
}

func (st *status) set(key, value []byte) (ok bool) {
	ok = true
	switch string(key) {
	case "Name":
		st.name = unescape(strings.TrimSuffix(strings.TrimPrefix(string(value), "\t"), "\n"))
	case "State":
		state := bytes.TrimSpace(value)
		if ok = len(state) > 0; ok {
			st.state = state[0]
		}
	case "Tgid":
		st.tgid, ok = number(value)
	case "PPid":
		st.ppid, ok = number(value)
	case "Uid":
		st.uid, ok = id(value, 3)
	case "Gid":
		st.gid, ok = id(value, 3)
	case "NSpgid":
		st.group, ok = number(value)
	case "NSsid":
		st.session, ok = number(value)
	case "NStgid":
		st.numbers, ok = integers(value)
	case "SigIgn":
		var err error
		st.ignored, err = strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		ok = err == nil
	case "Groups":
		st.groups, ok = ids(value)
	}
	return ok
}

// jobControl tells whether a shell controls jobs: it must not be stopped by the terminal. What it starts is not so.
func (st *status) jobControl() bool {
	const stops = 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGTTOU-1)
	return isShell(st.name) && st.ignored&stops == stops
}

// unescape undoes what the kernel does to the two characters that would break the line.
func unescape(name string) string {
	return strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(name)
}

// number is the first of the values: for ids per pid namespace, the one in ours.
func number(value []byte) (int, bool) {
	fields := bytes.Fields(value)
	if len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[0]), 10, 31)
	return int(n), err == nil
}

func id(value []byte, field int) (uint32, bool) {
	list, ok := ids(value)
	if !ok || field >= len(list) {
		return 0, false
	}
	return list[field], true
}

func integers(value []byte) ([]int, bool) {
	list, ok := ids(value)
	numbers := make([]int, len(list))
	for n, id := range list {
		numbers[n] = int(id)
	}
	return numbers, ok
}

func ids(value []byte) ([]uint32, bool) {
	fields := bytes.Fields(value)
	list := make([]uint32, 0, len(fields))
	for _, field := range fields {
		n, err := strconv.ParseUint(string(field), 10, 32)
		if err != nil {
			return nil, false
		}
		list = append(list, uint32(n))
	}
	return list, true
}
