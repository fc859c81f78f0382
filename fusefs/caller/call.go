package caller

import (
	"bytes"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// mostTurns is how often in a row a thread that is still on its way to sleep is looked at. On a busy machine that can take
// as long as others have their turns.
const mostTurns = 10_000

// OpenFileLock tells whether the lock that a thread asks for is its open file's (F_OFD_SETLK, F_OFD_SETLKW). The kernel's
// request does not say. It reads the thread's system call, so it may only be used while the thread waits for the answer, and
// other requests must go on being read meanwhile. If it can't be known: no.
func (t *Table) OpenFileLock(tid uint32) bool {
	if tid == 0 || t.blind {
		return false
	}
	for range mostTurns {
		text, err := readAt(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/syscall", tid))
		if err != nil {
			return false
		}
		if words := bytes.Fields(text); len(words) > 2 { // number, descriptor, command
			return isOpenFileLock(words[2])
		}
		runtime.Gosched()
	}
	return false
}

func isOpenFileLock(command []byte) bool {
	for _, c := range []int{unix.F_OFD_SETLK, unix.F_OFD_SETLKW} {
		if string(command) == fmt.Sprintf("%#x", c) {
			return true
		}
	}
	return false
}
