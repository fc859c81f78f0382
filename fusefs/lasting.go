package fusefs

import (
	"errors"
	"strings"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// lasting does something under the lock, and waits without it: with --sync=full, what was changed of names is durable when
// lasting returns. The request's turn must have been handed on.
func (d *desk) lasting(do func() error) error {
	syncs, err := d.collecting(do)
	for _, x := range syncs {
		if <-x.done; err == nil {
			err = x.err
		}
	}
	return err
}

// collecting gives the syncs that were asked for meanwhile.
func (d *desk) collecting(do func() error) (syncs []*folderSync, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncing = &syncs
	defer func() { d.syncing = nil }()
	return syncs, do()
}

// mayLast hands a request's turn on that will wait for the disk if names must be durable.
func (d *desk) mayLast(unique uint64) {
	if d.Sync == SyncFull {
		d.handOn(unique)
	}
}

// oweLocked: a name in a folder of the backing changed, and is not durable. Where it appears, who looks for it waits until it
// is. Nobody waits under the lock.
func (d *desk) oweLocked(name protocol.NameKey, folder string, appears bool) {
	if d.Sync != SyncFull {
		return
	}
	x := d.syncLocked(d.table.byID[uint64(name.Folder)], folder)
	if d.syncing != nil {
		*d.syncing = append(*d.syncing, x)
	}
	if parent := d.table.byID[uint64(name.Folder)]; appears && parent != nil && !x.over() {
		parent.folder.appears(name.Name, x)
		x.names = append(x.names, name)
	}
}

// oweMoveLocked is oweLocked for a rename. It is one step on the disk, too, so what has arrived has left its place below the
// control folder. Between folders of the mount both are synced, as careful programs do.
func (d *desk) oweMoveLocked(old, name protocol.NameKey, from, to string, appears bool) {
	d.oweLocked(name, to, appears)
	if from != to && !private(from) {
		d.oweLocked(old, from, false)
	}
}

// appears: a name is not durable before a sync is over.
func (f *folder) appears(name string, x *folderSync) {
	if f.unsynced == nil {
		f.unsynced = map[string]*folderSync{}
	}
	f.unsynced[name] = x
}

// syncLocked asks for the sync of a folder, which is a folder of the mount or a place below the control folder. If that is
// gone, its end must be durable, so the one above it is synced. A folder whose sync has failed is not synced again: what
// the disk has of it, nobody knows.
func (d *desk) syncLocked(n *node, path string) *folderSync {
	if private(path) {
		n = nil
	}
	if n != nil && n.folder.lost != nil {
		return failedSync(path, n.folder.lost)
	}
	f, err := d.Store.OpenFolder(path)
	switch {
	case err == nil:
		x := d.syncs.ask(f, f.ID, path)
		x.node = n
		return x
	case errors.Is(err, syscall.ENOENT) && path != "":
		above, _, _ := cutLast(path)
		return d.syncLocked(nil, above)
	}
	x := failedSync(path, err)
	x.node = n
	d.syncFailedLocked(x)
	return x
}

func private(folder string) bool { return strings.HasPrefix(folder, backing.Control+"/") }

// syncEnded lets those go on who waited for names to be durable.
func (d *desk) syncEnded(x *folderSync) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.err != nil {
		d.syncFailedLocked(x)
	}
	for _, name := range x.names {
		if parent := d.table.byID[uint64(name.Folder)]; parent != nil && parent.folder.unsynced[name.Name] == x {
			delete(parent.folder.unsynced, name.Name)
		}
	}
	x.names = nil
}

// syncFailedLocked: nobody knows which names of a folder the disk has. Those that appeared stay, since taking them back is a
// change of names, too. Nothing else appears in the folder until it is mounted anew.
func (d *desk) syncFailedLocked(x *folderSync) {
	d.Log.Error("names could not be made durable", "folder", x.path, "error", x.err)
	for _, name := range x.names {
		d.events.add(said{report.Event{Time: d.Now(), Path: d.pathLocked(name), What: "warning",
			Detail: "its name could not be made durable: " + cause(x.err) + "; see to the disk, then mount anew"}, nobody, ""})
	}
	if x.node != nil && x.node.folder.lost == nil {
		x.node.folder.lost = x.err
		d.warnings = append(d.warnings, "names in "+shown(x.node.path())+" could not be made durable ("+cause(x.err)+"): nothing is published there until you have seen to the disk and mounted anew")
	}
}

func shown(folder string) string {
	if folder == "" {
		return "the root"
	}
	return folder
}

// soundLocked fails if an item is to appear where names can't be made durable any more.
func (d *desk) soundLocked(next *protocol.Item) error {
	if n := d.table.byID[uint64(next.Name.Folder)]; d.Sync == SyncFull && next.State == protocol.Public && n != nil {
		return n.folder.lost
	}
	return nil
}

// lasts tells whether a power failure must not undo a change: an item appears, or is put where it will not appear. That
// claims are undone does not matter, since who had them is gone; the same goes for what was given back.
func lasts(old, next *protocol.Item) bool {
	switch next.State {
	case protocol.Public, protocol.Held:
		return old.State != protocol.Claimed || next.Name != old.Home
	case protocol.Quarantined:
		return old.State == protocol.Held
	}
	return false
}

// syncFolder is fsync(2) of a folder; one that was removed has nothing to lose.
func (d *desk) syncFolder(id uint64) error {
	if d.Sync == SyncNone {
		return nil
	}
	d.mu.Lock()
	n, err := d.nodeLocked(id)
	if err != nil || n.kind != folderNode || n.gone != nil {
		d.mu.Unlock()
		return err
	}
	x := d.syncLocked(n, n.path())
	d.mu.Unlock()
	<-x.done
	return x.err
}
