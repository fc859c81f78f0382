package fusefs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// remembered are the attributes of a folder, link or special file that has lost its name, but lives on for who has it
// open or works in it. The disk can't be asked by name any more, or would answer for what has come in its place.
type remembered struct {
	noXattrs
	*backing.Stat
}

// noXattrs are the extended attributes of what the disk does not have.
type noXattrs struct{}

func (noXattrs) GetXattr(string, []byte) (int, error) { return 0, syscall.ENODATA }
func (noXattrs) SetXattr(string, []byte, int) error   { return syscall.ENOTSUP }
func (noXattrs) ListXattr([]byte) (int, error)        { return 0, nil }
func (noXattrs) RemoveXattr(string) error             { return syscall.ENODATA }

// goneLocked: the node lost the name under which the disk had these attributes.
func (d *desk) goneLocked(n *node, st backing.Stat) {
	if n.kind == folderNode {
		st.Nlink = 0
		d.forgetBasesLocked(n)
		d.Store.Forget(n.path())
		d.dropKeyLocked(n)
		d.ruins.folders = append(d.ruins.folders, n)
		defer d.clearRuinsLocked()
	} else if st.Nlink > 0 {
		st.Nlink--
	}
	n.gone = &remembered{Stat: &st}
}

// openNamelessLocked opens an item that has no name any more, as who has it open can do below /proc/PID/fd. What was
// handed over is opened so by the kin of whom has it only. Who comes by a path is about to be sent to what the path means
// now.
func (d *desk) openNamelessLocked(n *node, c *call, tid, flags uint32) (*handle, error) {
	i := &n.bytes.item
	if i.State != protocol.Gone || n.bytes.at != (backing.Object{}) || d.asked[tid].node == n.id {
		return nil, nil
	}
	if err := d.fencedLocked(n, c.By, "open"); err != nil {
		return nil, err
	}
	for _, o := range n.bytes.handles {
		f := o.own()
		if f == nil || o.fenced.Load() || !i.Match.Vector.Class.InPlace() && !protocol.Kin(o.party, c.By) {
			continue
		}
		again, err := f.Reopen(int(flags & (unix.O_ACCMODE | unix.O_APPEND | unix.O_TRUNC)))
		if err != nil {
			return nil, err
		}
		h := &handle{node: n, party: c.By, read: c.Open.Read, write: c.Open.Write, file: again}
		h.appends = h.write && c.Open.Append
		d.attachLocked(h)
		return h, nil
	}
	return nil, nil
}

// ruins are the folders that were removed and are known still: a folder's id is part of the names of items.
type ruins struct {
	folders []*node
	enough  int // to look which of them are needed
}

// fewRuins are not worth a look at all nodes.
const fewRuins = 256

// clearRuinsLocked forgets the removed folders that neither the kernel nor an item refers to.
func (d *desk) clearRuinsLocked() {
	if len(d.ruins.folders) < max(fewRuins, d.ruins.enough) {
		return
	}
	needed := d.table.seenIn()
	for _, n := range d.table.byID {
		if n.kind == itemNode {
			needed[n.bytes.item.Name.Folder] = struct{}{}
			needed[n.bytes.item.Home.Folder] = struct{}{}
		}
	}
	kept := d.ruins.folders[:0]
	for _, n := range d.ruins.folders {
		_, named := needed[protocol.FolderID(n.id)]
		switch {
		case n.gone == nil: // it is back, by a hand from outside
		case named || n.lookups > 0 || len(n.folder.files) > 0 || len(n.folder.lent) > 0:
			kept = append(kept, n)
		default:
			d.table.drop(n)
		}
	}
	clear(d.ruins.folders[len(kept):])
	d.ruins.folders, d.ruins.enough = kept, 2*len(kept)
}

func (r *remembered) Chmod(mode uint32) error {
	r.Mode = r.Mode&unix.S_IFMT | mode&0o7777
	return nil
}

func (r *remembered) Chown(uid, gid int) error {
	if uid >= 0 {
		r.UID = uint32(uid)
	}
	if gid >= 0 {
		r.GID = uint32(gid)
	}
	return nil
}

func (r *remembered) Utimens(atime, mtime *unix.Timespec) error {
	if atime != nil {
		r.Atime = *atime
	}
	if mtime != nil {
		r.Mtime = *mtime
	}
	return nil
}
