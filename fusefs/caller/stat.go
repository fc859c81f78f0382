package caller

import (
	"bytes"
	"strconv"
	"strings"
)

// Task flags, field 9 of proc_pid_stat(5), from include/linux/sched.h.
const (
	flagExiting    = 0x4  // PF_EXITING
	flagForkNoExec = 0x40 // PF_FORKNOEXEC: forked, but did not exec
)

// stat is what we take from /proc/PID/stat. See the package documentation for when it may be read.
type stat struct {
	name  string
	state byte   // Z: zombie
	tty   int    // controlling terminal, 0: none
	flags uint64 // flagExiting, …
	start uint64 // clock ticks since boot
	exit  uint32 // wait status, once the task exits; 0 for a reader without the rights of ptrace
}

func (s stat) exiting() bool { return s.flags&flagExiting != 0 }
func (s stat) execed() bool  { return s.flags&flagForkNoExec == 0 }

// dead tells that the process is a zombie, or on its way from there.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(dir int, name string) (stat, error) {
	text, err := readAt(dir, name)
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// parseStat reads the fields described in proc_pid_stat(5). The name stands in parentheses and may contain any byte.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, errFormat
	}
	fields := strings.Fields(string(text[end+1:])) // the first is field 3
	if len(fields) < 50 || len(fields[0]) != 1 {
		return stat{}, errFormat
	}
	tty, err1 := strconv.ParseInt(fields[7-3], 10, 64)
	flags, err2 := strconv.ParseUint(fields[9-3], 10, 64)
	start, err3 := strconv.ParseUint(fields[22-3], 10, 64)
	exit, err4 := strconv.ParseInt(fields[52-3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return stat{}, errFormat
	}
	return stat{
		name: string(text[open+1 : end]), state: fields[0][0],
		tty: int(tty), flags: flags, start: start, exit: uint32(exit),
	}, nil
}

// noMemory tells from /proc/PID/statm whether the task has no address space: in a caller's FLUSH that means that the
// close is part of its exit, which gives up the memory just before the descriptors.
func noMemory(statm []byte) bool {
	return bytes.HasPrefix(statm, []byte("0 0 0 0"))
}
