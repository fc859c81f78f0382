package checkup

import (
	"errors"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
)

// public looks at everything in a public folder and below.
func (c *checkup) public(folder string) {
	for _, name := range c.list(folder) {
		if folder == "" && name == backing.Control {
			continue
		}
		at, path := backing.Object{Folder: folder, Name: name}, join(folder, name)
		st, err := c.store.Stat(at)
		switch {
		case errors.Is(err, syscall.EXDEV):
			c.find("public-mount", path, "another filesystem is mounted there")
		case c.failed(path, err):
		case name == backing.Control && st.IsFolder():
			c.find("public-control", path, "only the one at the root of the backing is in use")
		case st.IsFolder():
			c.public(path)
		case st.IsRegular():
			c.checkPublic(at, path)
		}
	}
}

// checkPublic looks whether a public file's note says what only a private item's may. A claim's note is written before
// the file moves, so a crash between the two leaves it.
func (c *checkup) checkPublic(at backing.Object, path string) {
	n := c.note(at, path)
	if n.Taint != "" || n.Detail != "" || !n.Until.IsZero() {
		c.find("public-secret", path, "its note says why it is not public, and it is")
	}
	if n.Home != "" || n.Uncounted {
		c.find("public-claimed", path, "its note says that it is claimed, and it is not")
	}
}
