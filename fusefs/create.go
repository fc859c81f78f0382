package fusefs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// createPublicLocked makes a file that is public at once. One that a note tells about, as one that is made to be locked,
// has the note before it has its name: without it it would be handed over, empty.
func (d *desk) createPublicLocked(n *node, at backing.Object, next *protocol.Item, c *call) (*backing.File, error) {
	said, err := d.noteOfLocked(n, next)
	if err != nil {
		return nil, err
	}
	n.bytes.class = said.Class
	note := string(said.Encode())
	if note == "" {
		return d.Store.CreateInPlace(at, unix.O_RDWR, c.mode, c.uid, c.gid)
	}
	f, err := d.Store.CreateNameless(at.Folder, c.mode, c.uid, c.gid)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return d.createNotedLocked(n, at, note, c)
	}
	if err != nil {
		return nil, err
	}
	if err = f.SetNote([]byte(note)); errors.Is(err, syscall.EOPNOTSUPP) {
		err = nil
	}
	if err == nil {
		err = d.Store.LinkFile(f, at)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	n.bytes.noted = note
	return f, nil
}

// createNotedLocked does the same where a file can't be made without a name.
func (d *desk) createNotedLocked(n *node, at backing.Object, note string, c *call) (*backing.File, error) {
	f, err := d.Store.CreateInPlace(at, unix.O_RDWR, c.mode, c.uid, c.gid)
	if err != nil {
		return nil, err
	}
	if err = f.SetNote([]byte(note)); err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		f.Close()
		return nil, errors.Join(err, d.Store.Remove(at))
	}
	n.bytes.noted = note
	return f, nil
}

// inheritLocked gives a version what its predecessor has beside its bytes.
func (d *desk) inheritLocked(f *backing.File, like *node, mode uint32) error {
	if like == nil || like.bytes.at == (backing.Object{}) {
		return nil
	}
	return d.Store.Inherit(f, like.bytes.at, mode)
}
