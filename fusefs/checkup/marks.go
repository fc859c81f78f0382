package checkup

import (
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// marks looks at the records of whose marks are.
func (c *checkup) marks() {
	area := inControl(marksArea)
	if st, _, ok := c.stat(backing.Control, marksArea); !ok || !st.IsFolder() {
		return // found before, if it is wrong
	}
	for _, name := range c.list(area) {
		st, path, ok := c.stat(area, name)
		n, err := strconv.ParseUint(name, 10, 63)
		switch {
		case !ok:
		case err != nil || strconv.FormatUint(n, 10) != name || st.Mode&unix.S_IFMT != unix.S_IFLNK:
			c.find("mark-stray", path, "it is no record of a mark")
		default:
			c.checkMark(backing.Object{Folder: area, Name: name}, path)
		}
	}
}

func (c *checkup) checkMark(at backing.Object, path string) {
	text, err := c.store.Readlink(at)
	if c.failed(path, err) {
		return
	}
	r, err := protocol.ParseMarkRecord(text)
	if err != nil {
		c.find("mark-unparsable", path, "it does not say whose mark it is")
		return
	}
	folder, known := c.keys[r.Folder]
	if !known {
		c.find("mark-gone", path, "the folder with the key %q, in which the mark %q was, is not there", r.Folder, r.Name)
		return
	}
	name := join(folder, r.Name)
	switch st, err := c.store.Stat(backing.Object{Folder: folder, Name: r.Name}); {
	case errors.Is(err, syscall.ENOENT), err == nil && (st.Ino != r.Ino || st.Born != r.Born):
		c.find("mark-gone", path, "the mark %q is not there any more", name)
	case c.failed(name, err):
	case !c.facts.Here(r.Line.Process) || !c.facts.Alive(r.Line.Process):
		c.find("mark-owner-dead", path, "the mark %q belonged to process %d, which has ended while no daemon served", name, r.Line.Process.PID)
	}
}
