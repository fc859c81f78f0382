package checkup

import (
	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// tokens looks at the folder that says how many fencing tokens may have been given out.
func (c *checkup) tokens() {
	area := inControl(tokensArea)
	if st, _, ok := c.stat(backing.Control, tokensArea); ok && !st.IsFolder() {
		return // found before
	}
	known := false
	for _, name := range c.list(area) {
		_, isNumber := protocol.ParseTokenBlock(name)
		known = known || isNumber
		if st, path, ok := c.stat(area, name); ok && (!isNumber || !st.IsFolder()) {
			c.find("tokens-stray", path, "it is no folder that airlockfs names after a number of tokens")
		}
	}
	if !known {
		c.find("tokens-missing", area, "nothing says which tokens were given out")
	}
}
