package fusefs

import (
	"maps"
	"slices"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// announceRelease marks an item whose descriptor's end will take a moment (its bytes are made durable first): whoever
// looks for its name, or asks for its lock, from now on waits until that is done (I7).
func (d *desk) announceRelease(h *handle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.releasing = make(chan struct{})
	d.ending[h.releasing] = h.node
	h.node.bytes.releasing = h.releasing
}

// releasedLocked lets those go on who waited for the handle's end.
func (d *desk) releasedLocked(h *handle) {
	if h.releasing == nil {
		return
	}
	close(h.releasing)
	delete(d.ending, h.releasing)
	if h.node.bytes.releasing == h.releasing {
		h.node.bytes.releasing = nil
	}
	h.releasing = nil
}

// awaitRelease waits, if the end of a descriptor on an item of this name is under way, until it is handled, and until the
// name is durable if it must be. The wait is for work already begun, and ends when the caller is interrupted.
func (d *desk) awaitRelease(cancel <-chan struct{}, unique, parentID uint64, name string) {
	d.await(cancel, unique, func() chan struct{} {
		parent := d.table.byID[parentID]
		if parent == nil || parent.kind != folderNode {
			return nil
		}
		if f := parent.folder.files[name]; f != nil && d.releasingLocked(f) != nil {
			return d.releasingLocked(f)
		}
		if done := d.endingOfLocked(parent.key(name)); done != nil {
			return done
		}
		if x := parent.folder.unsynced[name]; x != nil {
			return x.done
		}
		return nil
	})
}

// endingOfLocked is the end of a descriptor on what is public under a name: it may be the end of a lock, or of a mark.
func (d *desk) endingOfLocked(name protocol.NameKey) chan struct{} {
	for done, n := range d.ending {
		if n != nil && n.bytes.item.State == protocol.Public && n.bytes.item.Name == name {
			return done
		}
	}
	return nil
}

// awaitNode is awaitRelease for requests that come by node id.
func (d *desk) awaitNode(cancel <-chan struct{}, unique, id uint64) {
	d.await(cancel, unique, func() chan struct{} {
		if n := d.table.byID[id]; n != nil && n.kind == itemNode {
			return n.bytes.releasing
		}
		return nil
	})
}

// awaitReleases is awaitRelease for all names of a folder, before it is listed: first for what makes names appear, then for
// those that have.
func (d *desk) awaitReleases(cancel <-chan struct{}, unique uint64, folder *node) {
	d.awaitEach(cancel, unique, func() (all []chan struct{}) {
		for _, f := range folder.folder.files {
			if done := d.releasingLocked(f); done != nil {
				all = append(all, done)
			}
		}
		return all
	})
	d.awaitEach(cancel, unique, func() (all []chan struct{}) {
		for _, x := range folder.folder.unsynced {
			all = append(all, x.done)
		}
		return all
	})
}

// awaitAll waits for all that is under way now, before a report is made and before an order is answered.
func (d *desk) awaitAll(cancel <-chan struct{}, unique uint64) {
	d.awaitEach(cancel, unique, func() []chan struct{} { return slices.Collect(maps.Keys(d.ending)) })
}

// awaitEach waits for what there is now, which is called with d.mu held. What begins meanwhile is not waited for: under load
// there is always something.
func (d *desk) awaitEach(cancel <-chan struct{}, unique uint64, now func() []chan struct{}) {
	d.mu.Lock()
	all := now()
	d.mu.Unlock()
	if len(all) > 0 {
		d.handOn(unique)
	}
	for _, done := range all {
		select {
		case <-done:
		case <-cancel:
			return
		}
	}
}

// await waits until next, which is called with d.mu held, finds nothing more to wait for.
func (d *desk) await(cancel <-chan struct{}, unique uint64, next func() chan struct{}) {
	for {
		d.mu.Lock()
		done := next()
		d.mu.Unlock()
		if done == nil {
			return
		}
		d.handOn(unique)
		select {
		case <-done:
		case <-cancel:
			return
		}
	}
}

func (d *desk) releasingLocked(f *protocol.File) chan struct{} {
	for _, i := range f.Private {
		if n := d.table.byID[uint64(i.ID)]; n != nil && n.bytes.releasing != nil {
			return n.bytes.releasing
		}
	}
	return nil
}

func (d *desk) readlink(id uint64) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.nodeLocked(id)
	if err != nil {
		return "", err
	}
	if n.kind != otherNode {
		return "", syscall.EINVAL
	}
	return d.Store.Readlink(n.object())
}

func (d *desk) refer(n *node) (found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.referLocked(n)
}

// masked applies the caller's umask, unless the folder has a default ACL, which takes its place (acl(5)).
func (d *desk) masked(parentID uint64, mode, umask uint32) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.folderLocked(parentID)
	if err != nil || umask == 0 {
		return mode &^ umask
	}
	n, err := d.Store.GetXattr(backing.Object{Folder: parent.path()}, "system.posix_acl_default", nil)
	if err == nil && n > 0 {
		return mode
	}
	return mode &^ umask
}
