package fusefs

import (
	"errors"
	"math"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// A file in the backing that somebody outside the mount has open for writing is not complete. Three looks find that out:
// a look-up asks the kernel (a lease) if the file has changed since it was last known to be complete; a listing asks about
// files it has not seen; and who takes the file away or would replace it asks always: an open of the very descriptor it
// gets, since an outsider's descriptor would go along and tear what is read.

// What stands for the time of change of a file where nobody has looked at that.
const (
	ourDoing = math.MinInt64 // the mount has just made it public: the next look takes it as it is
	unseen   = math.MaxInt64 // it was complete in a listing: the next look asks again
)

// unfinishedElsewhereLocked asks whether a file that came into the backing from outside, or was changed there, is not
// complete yet.
func (d *desk) unfinishedElsewhereLocked(f *protocol.File, n *node, st backing.Stat) (bool, error) {
	if f.Match.Vector.Class.InPlace() || n.bytes.item.Match.Vector.Class.InPlace() {
		return false, nil
	}
	settled := d.table.byID[uint64(f.Name.Folder)].folder.settled
	when, known := settled[st.ID.Ino]
	switch {
	case f.Match.Temp == protocol.TempByName:
		return !known && !n.bytes.shown, nil // one that has been current stays visible under any name
	case n.writtenHere():
		return false, nil
	case known && (when == ourDoing || when == st.Mtime.Nano()):
		settled[st.ID.Ino] = st.Mtime.Nano()
		return false, nil
	}
	open, err := d.Store.WrittenElsewhere(n.bytes.at)
	d.fromOutsideLocked(f.Name, open)
	switch {
	case open:
		delete(settled, st.ID.Ino)
	case err == nil:
		settled[st.ID.Ino] = st.Mtime.Nano()
	}
	if known && when != unseen && doubtful(err) == nil {
		d.sayChangedLocked(n, open)
	}
	return open, doubtful(err)
}

// doubtful leaves the errors that are about this moment. Others tell that there are no leases, or none for us: then nobody
// can know who writes to a file.
func doubtful(err error) error {
	for _, lack := range []error{syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.ENOTTY, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, lack) {
			return nil
		}
	}
	return err
}

// sayChangedLocked tells that an outsider has written to a file that was complete.
func (d *desk) sayChangedLocked(n *node, open bool) {
	detail := "somebody outside the mount has written to it"
	if open {
		detail = "somebody outside the mount is writing to it: it is hidden until that is done"
	}
	path := d.pathLocked(n.bytes.item.Name)
	d.Log.Info("changed", "path", path, "detail", detail)
	d.events.add(said{report.Event{Time: d.Now(), Item: n.id, Path: path, What: "changed", Detail: detail}, nobody, detail})
}

// touchedLocked: the mount itself has changed a file's times.
func (d *desk) touchedLocked(n *node) {
	if parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]; parent != nil && parent.kind == folderNode {
		if _, known := parent.folder.settled[n.inode.Ino]; known {
			parent.folder.settled[n.inode.Ino] = ourDoing
		}
	}
}

// completeLocked asks, of a file that nobody has looked up yet, whether an outsider is still writing to it. It makes no
// node: a listing may have millions of names.
func (d *desk) completeLocked(folder *node, path string, e backing.Entry) bool {
	written, err := d.Store.WrittenElsewhere(backing.Object{Folder: path, Name: e.Name})
	d.fromOutsideLocked(protocol.NameKey{Folder: protocol.FolderID(folder.id), Name: e.Name}, written)
	if err == nil && !written {
		folder.folder.settled[e.Ino] = unseen
	}
	return !written && doubtful(err) == nil
}

// settledLocked remembers that an item the mount itself made public is complete, so that nobody asks whether an outsider
// still writes to it; and forgets one that has left its folder.
func (d *desk) settledLocked(n *node, old *protocol.Item) {
	i := &n.bytes.item
	d.leftFolderLocked(n, old)
	if parent := d.table.byID[uint64(i.Name.Folder)]; parent != nil && n.inode.Ino != 0 && i.State == protocol.Public {
		parent.folder.settled[n.inode.Ino] = ourDoing
		if old.State == protocol.Claimed {
			parent.folder.settled[n.inode.Ino] = n.bytes.last.Mtime.Nano()
		}
	}
}

// leftFolderLocked: the inode's number may soon be another file's.
func (d *desk) leftFolderLocked(n *node, old *protocol.Item) {
	parent := d.table.byID[uint64(old.Name.Folder)]
	if parent == nil || old.State != protocol.Public {
		return
	}
	if delete(parent.folder.settled, n.inode.Ino); len(parent.folder.settled) == 0 {
		parent.folder.settled = map[uint64]int64{} // which gives back the room for those that were there
	}
}

// forgetRemovedLocked keeps only what is still there of the files of a folder that are known to be complete: outsiders
// remove some.
func (d *desk) forgetRemovedLocked(folder *node) error {
	there := map[uint64]int64{}
	err := d.Store.List(folder.path(), func(e backing.Entry) error {
		if when, ok := folder.folder.settled[e.Ino]; ok {
			there[e.Ino] = when
		}
		return nil
	})
	if err == nil {
		folder.folder.settled = there
	}
	return err
}

// readableLocked refuses to open what an outsider is writing: to a reader it is not there, as before it was complete; who
// would write a new version from it is told to wait.
func (d *desk) readableLocked(n *node, f *backing.File, c *call) error {
	i := &n.bytes.item
	if !n.tornLocked(f) {
		return nil
	}
	why := protocol.NotFound
	if c.Open.Write {
		why = protocol.Busy
	}
	return d.refuseLocked(attempt{by: c.By, verb: "open", path: d.pathLocked(i.Name)}, d.foreignWriterLocked(why, n))
}

// liftOlderLocked publishes an item that waited behind a newer one, if an outsider has removed that. It tells whether it did.
func (d *desk) liftOlderLocked(f *protocol.File) bool {
	if d.lifting {
		return false // deciding looks at the name, too
	}
	d.lifting = true
	defer func() { d.lifting = false }()
	for _, i := range f.Private {
		if n := d.table.byID[uint64(i.ID)]; i.State == protocol.Held && i.Barrier == protocol.BarrierOlder && n != nil {
			return d.aboutItemLocked(n, d.call(protocol.OpLifted, nil)) == nil && i.State != protocol.Held
		}
	}
	return false
}

// askForeignLocked asks about what is public under the names of a call that would take it away, link it or write another
// version. What is known from a look does not do: an outsider may have opened it since.
func (d *desk) askForeignLocked(w *protocol.World, e *protocol.Event) error {
	switch e.Op {
	case protocol.OpUnlink, protocol.OpRename, protocol.OpLink, protocol.OpTake:
	case protocol.OpOpen:
		if i := w.File.Public; !e.Open.Write || i == nil || i.ID != e.Item {
			return nil
		}
	default:
		return nil
	}
	for _, f := range []*protocol.File{w.File, w.Target} {
		if f == nil || f.Public == nil {
			continue
		}
		written, err := d.writtenNowLocked(f)
		if err != nil {
			return err
		}
		if written {
			f.Foreign, f.Public = f.Public, nil
		}
	}
	return nil
}

// writtenNowLocked asks the kernel. A file of a class that is written in place is never hidden.
func (d *desk) writtenNowLocked(f *protocol.File) (bool, error) {
	n := d.table.byID[uint64(f.Public.ID)]
	if n == nil || f.Match.Vector.Class.InPlace() || f.Public.Match.Vector.Class.InPlace() || n.writtenHere() {
		return false, nil
	}
	written, err := d.Store.WrittenElsewhere(n.bytes.at)
	if errors.Is(err, syscall.ENOENT) {
		return false, nil // an outsider has taken it away: the call will find that
	}
	if written {
		d.tornNowLocked(n)
	}
	return written, doubtful(err)
}

// tornLocked tells whether an outsider has a file open for writing, of which this is a descriptor for reading. Where there
// are no leases nobody can know.
func (n *node) tornLocked(f *backing.File) bool {
	if f == nil || n.bytes.item.Match.Class.InPlace() || n.writtenHere() {
		return false
	}
	written, err := f.WrittenElsewhere()
	return written && err == nil
}

// writtenHere: a descriptor of this process has the file open for writing, and nobody can ask about others.
func (n *node) writtenHere() bool {
	for _, h := range n.bytes.handles {
		if h.write && h.own() != nil {
			return true
		}
	}
	return false
}
