package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// mayNotSettleLocked: who has no right to remove an item's name only looks: he claims nothing, and sees what others have
// claimed. Root always may.
func (d *desk) mayNotSettleLocked(n *node, p *protocol.Party) (bool, error) {
	uid := p.Process.UID
	if uid == 0 || p.Unseen || n.kind != itemNode || n.bytes.item.Match.Class.InPlace() {
		return false, nil
	}
	may, err := d.mayRemoveLocked(n, p)
	return err == nil && !may, err
}

// onlyLooksLocked is mayNotSettleLocked where doubt shows nothing.
func (d *desk) onlyLooksLocked(n *node, p *protocol.Party) bool {
	no, _ := d.mayNotSettleLocked(n, p)
	return no
}

// mayRemoveLocked: by the rights of its folder a user may remove an item, as unlink(2) has it.
func (d *desk) mayRemoveLocked(n *node, p *protocol.Party) (bool, error) {
	uid := p.Process.UID
	parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]
	if parent == nil {
		return true, nil
	}
	st, err := d.statLocked(n)
	folder, errFolder := d.Store.Stat(backing.Object{Folder: parent.path()})
	err = errors.Join(err, errFolder)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return false, nil
	case err != nil || sticks(folder, st, uid):
		return false, err
	}
	return d.Store.May(parent.path(), uid, p.GID, d.Callers.Groups(uint32(p.Process.PID)), unix.W_OK|unix.X_OK)
}

// sticks tells whether the folder is sticky, so that only the owners of file and folder remove the file's name (inode(7)).
func sticks(folder, file backing.Stat, uid uint32) bool {
	return folder.Mode&unix.S_ISVTX != 0 && folder.UID != uid && file.UID != uid
}

// mayTakeAwayLocked: the kernel has asked whether the caller may remove or replace what it found under the name. An item
// that has come there since, by its writer's close, it knows nothing of.
func (d *desk) mayTakeAwayLocked(folder *node, i *protocol.Item, p *protocol.Party) error {
	if i == nil || p.Process.UID == 0 {
		return nil
	}
	file, err := d.statLocked(d.table.byID[uint64(i.ID)])
	if err != nil {
		return err
	}
	st, err := d.Store.Stat(backing.Object{Folder: folder.path()})
	if err == nil && sticks(st, file, p.Process.UID) {
		err = syscall.EPERM
	}
	return err
}
