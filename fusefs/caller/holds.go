package caller

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Open is how many descriptors of a party's process are on this inode number, those that it inherited among them. It is
// asked of who waits for us in a call of its own, and reads procfs only where nothing waits for execve.
func (t *Table) Open(p *protocol.Party, inode uint64) (n int) {
	folder := fmt.Sprintf("/proc/%d/fdinfo", p.Process.PID)
	open, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	line := fmt.Appendf(nil, "\nino:\t%d\n", inode)
	for _, fd := range open {
		text, err := readAt(unix.AT_FDCWD, folder+"/"+fd.Name())
		if err == nil && bytes.Contains(text, line) {
			n++
		}
	}
	return n
}
