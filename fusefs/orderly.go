package fusefs

import (
	"fmt"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// warnLocked says, once for each such server, that an item passes for complete on the word of a server which says the
// same of half a file.
func (d *desk) warnLocked(n *node, was *protocol.Item, c *call) {
	if c.By == nil || n.bytes.promised() || !protocol.OnItsWord(was, &n.bytes.item) {
		return
	}
	server, ok := protocol.OrderlyServer(c.By.Program)
	if _, said := d.warned[server]; !ok || said {
		return
	}
	d.warned[server] = struct{}{}
	path := d.pathLocked(n.bytes.item.Name)
	detail := fmt.Sprintf("%s closes a file the same way whether its client was done or has vanished, and no length was announced for %s: "+
		"half a file would look whole. Let clients upload under a temp name (NAME.part) and rename, with publish=rename for the folder; "+
		"see docs/servers.md. This is said once", server, path)
	d.Log.Warn(detail, "path", path, "by", called(c.By))
	d.events.add(said{report.Event{Time: c.At, Item: n.id, Path: path, What: "warning", By: owner(c.By), Detail: detail}, nobody, detail})
}
