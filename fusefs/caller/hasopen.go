package caller

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/airlockfs/airlockfs/protocol"
)

// mostDescriptors bounds how many of a process's descriptors are looked at.
const mostDescriptors = 1000

// HasOpen tells whether a party's process, which waits in a call, has a file of that inode number open. It may be one of another
// filesystem. Linux says it in /proc/PID/fdinfo since 5.14; before that, nobody has.
func (t *Table) HasOpen(id protocol.PartyID, ino uint64) bool {
	e := t.entry(id)
	if e == nil || e.pid == 0 {
		return false
	}
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fdinfo", e.pid))
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(mostDescriptors) // what could be read counts
	line := []byte("\nino:\t" + strconv.FormatUint(ino, 10) + "\n")
	for _, name := range names {
		if text, err := readAt(int(dir.Fd()), name); err == nil && bytes.Contains(text, line) {
			return e.living()
		}
	}
	return false
}
