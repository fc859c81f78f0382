package fusefs

import (
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// marks is the account of all marks. Guarded by desk.mu.
type marks struct {
	count int
	of    map[uint32]int // by user
	last  uint64         // record
	kept  []keptMark
	late  map[*node]func() error // what frees their names, when who has locked them has let go: he has ended already
}

// mostMarks bounds the marks that are remembered. A name beyond that is an ordinary file, as where there are no marks.
const mostMarks = 1 << 16

func (d *desk) markRoomLocked(uid uint32) bool {
	return !d.tooMuch(uid, d.marks.of[uid], d.marks.count, mostMarks)
}

// markTextLocked is what a mark says, as far as that matters.
func (d *desk) markTextLocked(x *mark) (protocol.MarkText, error) {
	at := d.outsideLocked(x.Name)
	switch {
	case x.folder:
		return protocol.MarkText{Alone: true}, nil
	case x.link:
		target, err := d.Store.Readlink(at)
		return protocol.ReadMarkLink(target), err
	}
	return d.readMarkFileLocked(at)
}

func (d *desk) readMarkFileLocked(at backing.Object) (protocol.MarkText, error) {
	f, _, err := d.Store.Open(at, unix.O_RDONLY)
	if err != nil {
		return protocol.MarkText{}, err
	}
	defer f.Close()
	text := make([]byte, protocol.LongestMark+1)
	n, err := f.ReadAt(text, 0)
	if err == io.EOF {
		err = nil
	}
	return protocol.ReadMark(text[:n]), err
}

// readMarkLocked finds out who holds a mark by what is written in it, and whether it is one at all.
func (d *desk) readMarkLocked(x *mark) {
	if x.which == protocol.MarkAlways && !x.link {
		return
	}
	text, err := d.markTextLocked(x)
	if err != nil {
		d.Log.Warn("a mark could not be read", "path", d.pathLocked(x.Name), "error", err)
		return
	}
	var named *protocol.Party
	for _, id := range []protocol.PartyID{x.Maker, x.Also} {
		if named == nil && id != 0 && len(text.PIDs) > 0 {
			named, x.number = d.Callers.Named(id, text.PIDs)
		}
	}
	x.void = named == nil && !text.Alone && x.which != protocol.MarkAlways
	holder := protocol.PartyID(0)
	if named != nil {
		holder = named.ID
	}
	if holder != x.Named {
		d.holdMarkLocked(x, func() { x.Named = holder })
	}
}

// isMarkLocked tells whether what was a mark is one still, now that its holder has ended and can't be found by its number any
// more.
func (d *desk) isMarkLocked(x *mark) (bool, error) {
	switch {
	case x.folder:
		return d.isMarkFolderLocked(x)
	case x.which == protocol.MarkAlways || x.link:
		return true, nil
	case x.void:
		return false, nil
	}
	text, err := d.markTextLocked(x)
	return text.Alone || slices.Contains(text.PIDs, x.number), err
}

// markFlushedLocked: somebody closes a descriptor of a file that is a mark.
func (d *desk) markFlushedLocked(h *handle, p *protocol.Party) {
	for _, x := range d.marksOfLocked(h.node) {
		d.usesMarkLocked(x, h, p)
		if h.write {
			d.readMarkLocked(x)
		}
	}
}

// markReleasedLocked: the descriptor is closed. What was written by it is all that was to be written.
func (d *desk) markReleasedLocked(h *handle) {
	if free := d.marks.late[h.node]; free != nil && h.node.bytes.locksOf().Empty() {
		delete(d.marks.late, h.node)
		d.doLocked(free)
	}
	for _, x := range d.marksOfLocked(h.node) {
		if x.made == h.id {
			x.made = 0
		}
		switch {
		case x.made != 0:
		case x.Open && !x.void:
			d.closedMarkLocked(x)
		case x.void:
			d.dropMarkLocked(x)
		}
	}
}
