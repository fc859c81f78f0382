package fusefs

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// A claimed item may have further names on the disk. They stay where they are: whoever looks for one finds the inode, which
// is in the claim's place, and so does the next mount. That is why there is always a name in the claim's place.

// renameClaimLocked takes away the name that an item is claimed under, and has it go on under another that it has. The
// rename within the claim's place is the transition. From then on the other name is there twice, until it is removed outside;
// finishRenameLocked does that if the daemon ends before.
func (d *desk) renameClaimLocked(n *node, x *protocol.Effect, c *call) error {
	other, at, found := d.furtherNameLocked(n)
	if !found {
		return d.leaveNamesLocked(n, x, c)
	}
	next := n.bytes.item
	next.Name, next.Home, next.Match = other, other, d.Rules.At(at.Folder, at.Name)
	if err := d.carryOutLocked(&protocol.Effect{Kind: protocol.Move, Next: next}, c); err != nil {
		return err
	}
	d.doLocked(func() error {
		if i := &n.bytes.item; i.State != protocol.Claimed || i.Name != other {
			return nil // it has left the place, and what is outside is its name
		}
		return d.takeInLocked(n, at)
	})
	d.oweLocked(x.At, n.bytes.at.Folder, false)
	d.oweLocked(other, at.Folder, false)
	return nil
}

// takeInLocked removes the name outside of a claimed item that has the same one in its place.
func (d *desk) takeInLocked(n *node, at backing.Object) error {
	st, err := d.Store.Stat(at)
	if err == nil && st.ID != n.inode {
		return nil // another file has come in its place
	}
	if err == nil {
		parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]
		err = d.keepingTimesLocked(parent, func() error { return d.Store.Remove(at) })
	}
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	n.bytes.item.Links--
	return nil
}

// finishRenameLocked does what renameClaimLocked did not come to: the item's own name is there outside, too. The note may
// tell of the name before.
func (d *desk) finishRenameLocked(n *node) error {
	i := &n.bytes.item
	at := d.outsideLocked(i.Name)
	if !d.isAtLocked(n, at) {
		return nil
	}
	i.Home = i.Name
	if err := d.noteLocked(n, i); err != nil {
		return err
	}
	return d.takeInLocked(n, at)
}

// leaveNamesLocked ends a claim whose item has further names, but none that could be found: they are not below the mount,
// or are written in place. They are a file of their own from now on.
func (d *desk) leaveNamesLocked(n *node, x *protocol.Effect, c *call) error {
	if err := d.removeLocked(n, x); err != nil {
		return err
	}
	gone := n.bytes.item
	gone.State, gone.Owner = protocol.Gone, 0
	d.installLocked(n, &protocol.Effect{Kind: protocol.Remove, Next: gone, At: x.At}, c)
	d.table.identify(n, backing.ID{})
	d.tidyLocked(n)
	return nil
}

// furtherNameLocked is a name outside of a claimed item that it can go on under: one that is known, or else one that is
// looked for. Nobody may have asked for any since the mount, or since the kernel forgot it.
func (d *desk) furtherNameLocked(n *node) (protocol.NameKey, backing.Object, bool) {
	for _, name := range slices.Collect(maps.Keys(n.bytes.names)) {
		if at := d.outsideLocked(name); name != n.bytes.item.Name && d.goesOnLocked(n, at) {
			return name, at, true
		}
	}
	at, found := d.seekLocked(n, d.outsideLocked(n.bytes.item.Name).Folder)
	if !found {
		return protocol.NameKey{}, at, false
	}
	parent, err := d.walkLocked(at.Folder)
	if err != nil {
		return protocol.NameKey{}, at, false
	}
	return parent.key(at.Name), at, true
}

// outsideLocked is where a name is on the disk while it is public; nowhere if its folder is gone.
func (d *desk) outsideLocked(name protocol.NameKey) backing.Object {
	parent := d.table.byID[uint64(name.Folder)]
	if parent == nil || parent.gone != nil {
		return backing.Object{}
	}
	return backing.Object{Folder: parent.path(), Name: name.Name}
}

func (d *desk) isAtLocked(n *node, at backing.Object) bool {
	if at == (backing.Object{}) {
		return false
	}
	st, err := d.Store.Stat(at)
	return err == nil && st.ID == n.inode
}

func (d *desk) goesOnLocked(n *node, at backing.Object) bool {
	return d.isAtLocked(n, at) && !d.Rules.At(at.Folder, at.Name).Class.InPlace()
}

// seekLocked looks through all folders for a further name of an item, first where its other one is: most are there. It reads
// folders only (two million names a second, if they are in memory), and that only if an item has a name that nobody has asked
// for.
func (d *desk) seekLocked(n *node, first string) (backing.Object, bool) {
	at, found := d.seekInLocked(n, first, func(string) {})
	for folders := []string{""}; !found && len(folders) > 0; folders = folders[1:] {
		at, found = d.seekInLocked(n, folders[0], func(below string) { folders = append(folders, below) })
	}
	return at, found
}

// seekInLocked looks through one folder, and tells of those in it.
func (d *desk) seekInLocked(n *node, folder string, below func(string)) (at backing.Object, found bool) {
	err := d.Store.List(folder, func(e backing.Entry) error {
		o := backing.Object{Folder: folder, Name: e.Name}
		switch {
		case folder == "" && e.Name == backing.Control:
		case e.Type == unix.DT_DIR || e.Type == unix.DT_UNKNOWN && d.isFolderLocked(o):
			below(strings.TrimPrefix(folder+"/"+e.Name, "/"))
		case e.Ino == n.inode.Ino && d.goesOnLocked(n, o):
			at, found = o, true
			return errFound
		}
		return nil
	})
	if err != nil && !found {
		d.Log.Warn("a folder was left out in looking for a file's other names", "folder", folder, "error", err)
	}
	return at, found
}

var errFound = errors.New("found")

func (d *desk) isFolderLocked(o backing.Object) bool {
	st, err := d.Store.Stat(o)
	return err == nil && st.IsFolder()
}
