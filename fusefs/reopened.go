package fusefs

import (
	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// complete: the disk says of an unfinished item that its writer has closed it.
func complete(i *protocol.Item) bool {
	return i.State == protocol.Parked || i.State == protocol.Staged && i.Barrier == protocol.BarrierTemp
}

// reopened makes durable, before the first new byte of a temp file that was closed before, that it is no longer so. Else
// the power can fail with some of the new bytes on the disk, and the note or the place of a complete file.
func (d *desk) reopened(h *handle, f *backing.File) error {
	b := h.node.bytes
	if d.Sync == SyncNone || !b.reopened.Load() {
		return nil
	}
	b.making.Lock()
	defer b.making.Unlock()
	if !b.reopened.Load() {
		return nil
	}
	if err := b.saved.saveAll(f.Sync); err != nil {
		d.notSaved(h.node, err)
		return err
	}
	d.mu.Lock()
	at := b.at
	d.mu.Unlock()
	if at != (backing.Object{}) {
		if err := d.Store.SyncFolder(at.Folder); err != nil {
			return err
		}
	}
	b.reopened.Store(false)
	return nil
}
