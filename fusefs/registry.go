package fusefs

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
)

// rootKey is the root's key, which is in no registry.
const rootKey = "0"

// mostKeyTries bounds how many keys in a row may turn out to be taken, by another hand: the last one was read at the start.
const mostKeyTries = 1000

// keyLocked is the folder's key in the registry of folders, which says its path after a restart. Renaming a folder
// rewrites its entry and those of the folders below it, and moves no item.
func (d *desk) keyLocked(n *node) (string, error) {
	for tries := 0; n.folder.key == ""; tries++ {
		d.lastKey++
		key := strconv.FormatUint(d.lastKey, 36)
		at := backing.Object{Folder: foldersArea, Name: key}
		err := d.Store.SymlinkOwn(n.path(), at)
		if errors.Is(err, syscall.ENOENT) && d.repairLocked() == nil {
			err = d.Store.SymlinkOwn(n.path(), at)
		}
		if errors.Is(err, syscall.EEXIST) && tries < mostKeyTries {
			continue
		}
		if err == nil {
			err = d.syncKeyLocked(at)
		}
		if err != nil {
			return "", err
		}
		n.folder.key, d.keys[key] = key, n
	}
	return n.folder.key, nil
}

// syncKeyLocked makes a new key durable, once for each folder: a disk may have what is put into a place, without the key
// that the place names.
func (d *desk) syncKeyLocked(at backing.Object) error {
	err := d.syncNamesLocked(foldersArea)
	if err != nil {
		_ = d.Store.Remove(at)
	}
	return err
}

// syncNamesLocked makes the names of folders durable, for steps that must reach the disk in their order.
func (d *desk) syncNamesLocked(folders ...string) error {
	for n, folder := range folders {
		if d.Sync == SyncNone || slices.Contains(folders[:n], folder) {
			continue
		}
		if err := d.Store.SyncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// draft is a registry's entry for a folder that is about to move: KEY.INODE.new, where it will be.
type draft struct{ key, name string }

func (x draft) object() backing.Object { return backing.Object{Folder: foldersArea, Name: x.name} }

const draftSuffix = ".new"

// draftKeysLocked says, before a folder moves, where it and all folders below it will be: if the daemon ends within the
// move, the next one sees by a draft's inode whether it has happened.
func (d *desk) draftKeysLocked(moved *node, to backing.Object) ([]draft, error) {
	var drafts []draft
	for _, key := range slices.Sorted(maps.Keys(d.keys)) {
		n := d.keys[key]
		if key == rootKey || !n.below(moved) {
			continue
		}
		x := draft{key, key + "." + strconv.FormatUint(n.inode.Ino, 10) + draftSuffix}
		path := strings.TrimPrefix(to.Folder+"/"+to.Name, "/") + strings.TrimPrefix(n.path(), moved.path())
		err := d.Store.Remove(x.object()) // one that a failed call has left
		if err == nil || errors.Is(err, syscall.ENOENT) {
			err = d.Store.SymlinkOwn(path, x.object())
		}
		if err != nil {
			d.dropDraftsLocked(drafts)
			return nil, err
		}
		drafts = append(drafts, x)
	}
	return drafts, nil
}

// settleDraftsLocked: the folders have moved.
func (d *desk) settleDraftsLocked(drafts []draft) {
	for _, x := range drafts {
		d.doLocked(func() error { return d.settleDraft(x) })
	}
}

func (d *desk) settleDraft(x draft) error {
	return d.Store.Move(x.object(), backing.Object{Folder: foldersArea, Name: x.key}, backing.Replace)
}

// dropDraftsLocked: they have not moved.
func (d *desk) dropDraftsLocked(drafts []draft) {
	for _, x := range drafts {
		d.doLocked(func() error { return d.Store.Remove(x.object()) })
	}
}

// recoverDraftLocked decides about a draft that a daemon has left.
func (d *desk) recoverDraftLocked(name string) error {
	x := draft{name: name}
	path, err := d.Store.Readlink(x.object())
	if err != nil {
		return err
	}
	key, inode, _ := strings.Cut(strings.TrimSuffix(name, draftSuffix), ".")
	x.key = key
	n, err := d.walkLocked(path)
	if err != nil && !noFolder(err) {
		return err
	}
	if err != nil || strconv.FormatUint(n.inode.Ino, 10) != inode {
		return d.Store.Remove(x.object())
	}
	return d.settleDraft(x)
}

// noFolder: there is no folder where one was, or an entry that somebody has edited names none; rather than that nobody
// could look.
func noFolder(err error) bool {
	for _, none := range []error{syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.EXDEV, syscall.EINVAL} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// rekeyLocked writes the registry's entries of a folder that an outsider has moved, and of all below it, anew.
func (d *desk) rekeyLocked(moved *node) {
	for key, n := range d.keys {
		if key != rootKey && n.below(moved) {
			d.doLocked(func() error { return d.writeKeyLocked(key, n) })
		}
	}
}

// writeKeyLocked writes the registry's entry of a folder anew.
func (d *desk) writeKeyLocked(key string, n *node) error {
	tmp := backing.Object{Folder: foldersArea, Name: key + draftSuffix}
	err := d.Store.Remove(tmp) // one that a failed call has left
	if err == nil || errors.Is(err, syscall.ENOENT) {
		err = d.Store.SymlinkOwn(n.path(), tmp)
	}
	if err != nil {
		return err
	}
	return d.Store.Move(tmp, backing.Object{Folder: foldersArea, Name: key}, backing.Replace)
}

// dropKeyLocked removes the registry's entry of a folder that is gone, unless something in quarantine still refers to it.
func (d *desk) dropKeyLocked(n *node) {
	if n.folder.key == "" || len(n.folder.files) > 0 {
		return
	}
	at := backing.Object{Folder: foldersArea, Name: n.folder.key}
	d.doLocked(func() error { return d.Store.Remove(at) })
	delete(d.keys, n.folder.key)
	n.folder.key = ""
}

// below: the node is the folder or lies in it, at any depth.
func (n *node) below(folder *node) bool {
	for ; n != nil; n = n.parent {
		if n == folder {
			return true
		}
	}
	return false
}
