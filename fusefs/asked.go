package fusefs

import "github.com/airlockfs/airlockfs/protocol"

// asked is what a thread's last look-up of a file's name found. Names of files are not cached, so the kernel looks a name
// up just before it opens it; in between somebody may move the item away. Then an open by node id would get it under a
// name that its caller never said.
type asked struct {
	node uint64
	key  protocol.NameKey
}

// mostAsked bounds what is remembered of threads that looked a name up and did not open it.
const mostAsked = 8192

func (d *desk) rememberLocked(tid uint32, n *node, key protocol.NameKey) {
	if len(d.asked) >= mostAsked {
		clear(d.asked)
	}
	d.asked[tid] = asked{n.id, key}
}

// movedSinceLocked tells whether a node that a thread is about to open has lost the name that the thread looked up.
func (d *desk) movedSinceLocked(tid uint32, n *node) (protocol.NameKey, bool) {
	a, ok := d.asked[tid]
	delete(d.asked, tid)
	i := &n.bytes.item
	if !ok || a.node != n.id || a.key == i.Name {
		return a.key, false
	}
	if _, another := n.bytes.names[a.key]; another {
		return a.key, false
	}
	if r := d.redirects[tid]; r != nil && r.key == a.key {
		return a.key, false // the kernel asks only once more
	}
	parent := d.table.byID[uint64(a.key.Folder)]
	return a.key, parent == nil || !d.knownLocked(parent, a.key.Name).Stands(i)
}
