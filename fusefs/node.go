package fusefs

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// rootID is the root's node id (FUSE_ROOT_ID).
const rootID = 1

// nodeKind tells the few kinds of inodes apart that are treated differently.
type nodeKind uint8

const (
	folderNode  nodeKind = iota
	itemNode             // a regular file: one version of its bytes
	otherNode            // symlink, FIFO, socket, device: as on the backing
	controlNode          // a virtual file or folder below .airlockfs
)

// node is what the kernel calls an inode. All fields are guarded by desk.mu.
type node struct {
	id      uint64
	kind    nodeKind
	lookups uint64 // references the kernel holds (LOOKUP, CREATE, … minus FORGET)
	inode   backing.ID

	// Folders and others: where it is. An item's name is in the item.
	parent *node
	name   string
	gone   *remembered // it has lost its name
	used   bool        // it is among the nodes that were used last

	folder  *folder  // folderNode
	bytes   *bytes   // itemNode
	control *virtual // controlNode
}

// bytes is what the desk keeps about an item beside the protocol's view of it.
type bytes struct {
	item protocol.Item
	at   backing.Object // where they are; zero while there are none, or when they have no name any more
	uid  uint32         // for a version without bytes yet: whose they will be
	gid  uint32
	mode uint32

	handles map[uint64]*handle
	names   map[protocol.NameKey]struct{} // all names it is known to have on the disk, if it has several
	fresh   *backing.File                 // made with the item, for the first open of it
	noted   string                        // what its note on the disk says
	shown   bool                          // a state file that has been current: visible under a temp name, too
	class   string                        // the class it got by its maker's behaviour, if that decided
	kept    int                           // those who must find it again: versions made from it, opens that were redirected to it
	frozen  bool                          // written over: what the disk now says of the inode is the mount's own doing
	last    backing.Stat                  // remembered for items that have no name any more
	writing int                           // writes to a lock file that are under way
	quiet   chan struct{}                 // closed when there are none
	locks   *lockList                     // nil: nobody has asked for one yet

	uses    uses      // class records: reads and writes under way
	unused  *redirect // that it was claimed for, and whose open has not come yet
	flushed bool      // somebody's open of it has returned
	saved   saved

	marked     atomic.Bool                   // it has a name that is a mark
	reopened   atomic.Bool                   // it was complete, and the disk may still say so
	making     sync.Mutex                    // held while the bytes of a derived version are made; before desk.mu
	copying    bool                          // they are not complete
	writers    map[protocol.PartyID]struct{} // who wrote
	unsettled  *unsettled                    // a decision that the disk refused
	missing    bool                          // the last look did not find it where it was put
	lost       bool                          // somebody removed it from the control folder, and that was told
	idle       protocol.Taint                // how one ended badly that had it open and wrote nothing
	written    int64                         // bytes written through the mount to this version
	reach      int64                         // end of the furthest write
	announced  int64                         // a length set beyond the end before the last write
	short      bool                          // a write came after the announcement, so the length was promised
	mapped     bool                          // written through a shared mapping: nothing is promised
	releasing  chan struct{}                 // closed when what a look at it must wait for is done
	ctimeShown unix.Timespec                 // what is shown as ctime while the disk says ctimeOurs: that was the mount's own doing
	ctimeOurs  unix.Timespec
	lastWrite  time.Time    // through the mount
	timesSet   bool         // its writer set its times on purpose
	job        protocol.Job // of a version of a state file: whose it is
}

// promised tells whether a length was announced that must be reached.
func (b *bytes) promised() bool { return b.short && b.announced > 0 && !b.mapped }

// folder is what the desk keeps about a folder.
type folder struct {
	key     string                        // its name in the control folder's registry, "" until it needs one
	files   map[string]*protocol.File     // names that something private stands behind
	lent    map[string]map[*node]struct{} // claimed items that are under another name now, by the name they go back to
	marks   map[string]*mark
	settled map[uint64]int64 // complete files, by inode number: when they had last changed (foreign.go)
	times   folderTimes

	unsynced map[string]*folderSync // names that are not durable yet, with --sync=full
	lost     error                  // why names in it can't be made durable any more
}

// table gives node ids, which are never used twice, and finds nodes by id and by inode.
type table struct {
	byID    map[uint64]*node
	byInode map[backing.ID]*node
	lastID  uint64
	most    int // nodes since these maps were made

	// What only the kernel refers to; never in the maps above.
	seen        map[uint64]*seen
	seenByInode map[backing.ID]*seen
	mostSeen    int
}

func newTable() table {
	return table{byID: map[uint64]*node{}, byInode: map[backing.ID]*node{}, lastID: rootID,
		seen: map[uint64]*seen{}, seenByInode: map[backing.ID]*seen{}}
}

func (t *table) nextID() uint64 {
	t.lastID++
	return t.lastID
}

func (t *table) add(n *node) *node {
	t.byID[n.id] = n
	t.most = max(t.most, len(t.byID))
	if n.inode != (backing.ID{}) {
		t.byInode[n.inode] = n
	}
	return n
}

// identify files the node under its inode, once that is known or after it has changed.
func (t *table) identify(n *node, id backing.ID) {
	if t.byInode[n.inode] == n {
		delete(t.byInode, n.inode)
	}
	n.inode = id
	if id != (backing.ID{}) {
		t.byInode[id] = n
	}
}

func (t *table) drop(n *node) {
	delete(t.byID, n.id)
	if t.byInode[n.inode] == n {
		delete(t.byInode, n.inode)
	}
}

// idle: neither the kernel nor the protocol needs the node any more.
func (n *node) idle() bool {
	if n.lookups > 0 || n.id == rootID {
		return false
	}
	switch n.kind {
	case itemNode:
		return !n.bytes.needed()
	case folderNode, controlNode:
		return false // a folder's id is part of names
	}
	return true
}

// needed: somebody must find the item as it is.
func (b *bytes) needed() bool {
	lost := b.saved.lost.Load() != nil && b.item.State != protocol.Gone
	return len(b.handles) > 0 || b.unsettled != nil || b.item.Former != nil || b.kept > 0 || b.marked.Load() || b.item.Private() || b.locks.used() || lost
}

// path is a folder's clean relative path in the backing, "" for the root.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	if p := n.parent.path(); p != "" {
		return p + "/" + n.name
	}
	return n.name
}

// key is a name in a folder.
func (n *node) key(name string) protocol.NameKey {
	return protocol.NameKey{Folder: protocol.FolderID(n.id), Name: name}
}

// object is where the backing has the node's inode.
func (n *node) object() backing.Object {
	switch {
	case n.kind == itemNode:
		return n.bytes.at
	case n.parent == nil:
		return backing.Object{}
	}
	return backing.Object{Folder: n.parent.path(), Name: n.name}
}
