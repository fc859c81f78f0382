package checkup

import (
	"strings"

	"github.com/airlockfs/airlockfs/protocol"
)

// replaced looks at the versions that were written over: UNIXNANO~KEY/NAME.
func (c *checkup) replaced() {
	if !c.isArea(replacedArea) {
		return
	}
	area := inControl(replacedArea)
	for _, name := range c.list(area) {
		st, path, ok := c.stat(area, name)
		switch {
		case !ok:
		case !st.IsFolder():
			c.find("replaced-stray", path, "it is no folder")
		case !isReplaced(name):
			c.find("replaced-unparsable", path, "its name does not say until when its files are kept")
		default:
			c.checkReplaced(path, name)
		}
	}
}

func isReplaced(name string) bool {
	_, _, ok := protocol.ParseReplaced(name)
	return ok
}

func (c *checkup) checkReplaced(folder, dir string) {
	_, key, _ := strings.Cut(dir, "~")
	if _, ok := c.keys[key]; !ok {
		c.find("replaced-unknown-key", folder, "no folder has the key %q", key)
	}
	for _, name := range c.list(folder) {
		if st, path, ok := c.stat(folder, name); ok && !st.IsRegular() {
			c.find("replaced-irregular", path, "it is no regular file")
		}
	}
}
