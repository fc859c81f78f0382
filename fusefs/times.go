package fusefs

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// keepTimeLocked: a rename changes the inode's ctime. Of an item that was public, that is nobody's business: who reads it
// would think that it changed (tar says so).
func (d *desk) keepTimeLocked(n *node) {
	b := n.bytes
	if b.item.State != protocol.Public && b.item.State != protocol.Claimed {
		return
	}
	if st, err := d.Store.Stat(b.at); err == nil {
		b.ctimeShown, b.ctimeOurs = b.last.Ctime, st.Ctime
		b.last.Mtime = st.Mtime
	}
}

// asShown are attributes without what the mount itself did to the inode.
func (b *bytes) asShown(st backing.Stat) backing.Stat {
	if b.ctimeOurs != (unix.Timespec{}) && st.Ctime == b.ctimeOurs {
		st.Ctime = b.ctimeShown
	}
	return st
}

// folderTimes are what is shown of a folder while the disk says ours: the mount itself moved something in or out of it,
// for a claim, its end, or a version that takes the place of another. No name has come or gone for that.
type folderTimes struct{ mtime, ctime, ours unix.Timespec }

func (f *folder) asShown(st backing.Stat) backing.Stat {
	if f.times.ours != (unix.Timespec{}) && st.Ctime == f.times.ours {
		st.Mtime, st.Ctime = f.times.mtime, f.times.ctime
	}
	return st
}

// ownDoing: the move on the disk that makes the effect true is none that anybody asked for.
func ownDoing(old *protocol.Item, x *protocol.Effect) bool {
	claimed, public := protocol.Claimed, protocol.Public
	return old.Name == x.Next.Name && (old.State == public && x.Next.State == claimed || old.State == claimed && x.Next.State == public ||
		x.Over != 0 && x.Next.State == public)
}

// moveKeepingTimesLocked is Store.Move of an item. When a claimed item leaves its folder for good, that is when the
// folder's times move.
func (d *desk) moveKeepingTimesLocked(n *node, x *protocol.Effect, to backing.Object, how backing.How) error {
	parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]
	if parent == nil || !ownDoing(&n.bytes.item, x) {
		if inherited := x.Next.State == protocol.Claimed && x.Next.Home == n.bytes.item.Home; !inherited {
			d.timesMovedLocked(&n.bytes.item)
		}
		return d.Store.Move(n.bytes.at, to, how)
	}
	return d.keepingTimesLocked(parent, func() error { return d.Store.Move(n.bytes.at, to, how) })
}

// keepingTimesLocked does something to a folder for the mount itself.
func (d *desk) keepingTimesLocked(parent *node, do func() error) error {
	before, err := d.statLocked(parent)
	if err != nil {
		return err
	}
	if err = do(); err != nil {
		return err
	}
	if after, err := d.Store.Stat(parent.object()); err == nil {
		parent.folder.times = folderTimes{mtime: before.Mtime, ctime: before.Ctime, ours: after.Ctime}
	}
	return nil
}

// timesMovedLocked: the name of a claimed item goes, so the folder's times are those of the claim.
func (d *desk) timesMovedLocked(i *protocol.Item) {
	if parent := d.table.byID[uint64(i.Home.Folder)]; parent != nil && i.State == protocol.Claimed {
		parent.folder.times = folderTimes{}
	}
}

// fresh: the item was never public.
func fresh(i *protocol.Item) bool {
	return i.Private() && i.State != protocol.Claimed && (i.State != protocol.Held || i.Barrier != protocol.BarrierOlder)
}

// lateLocked: an item that becomes public long after its last write gets the time of its publication, so that a poller
// that remembers the newest time does not miss it; unless its writer set the time on purpose.
func (d *desk) lateLocked(n *node, x *protocol.Effect) bool {
	old := &n.bytes.item
	return fresh(old) && x.Next.State == protocol.Public && !n.bytes.timesSet && !n.bytes.lastWrite.IsZero() &&
		d.Now().Sub(n.bytes.lastWrite) > time.Second
}
