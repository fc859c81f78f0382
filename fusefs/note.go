package fusefs

import (
	"errors"
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// homeLocked is what a note says of where a claim goes back to: nothing, if that is its own name.
func (d *desk) homeLocked(i *protocol.Item) (string, error) {
	if i.State != protocol.Claimed || i.Home == i.Name {
		return "", nil
	}
	key, err := d.keyLocked(d.table.byID[uint64(i.Home.Folder)])
	return key + "/" + i.Home.Name, err
}

// noteMoveLocked writes down what the place of an item will not say, before it gets there. Where a claim goes back to,
// and that a file was made to be locked, is told until that is over: before the rename nothing else tells it.
func (d *desk) noteMoveLocked(n *node, next *protocol.Item) error {
	i := &n.bytes.item
	if i.State == protocol.Public && next.State == protocol.Quarantined {
		return nil // what everybody sees has not failed: a mark's reason is told when it is in quarantine
	}
	note, err := d.noteOfLocked(n, next)
	if err == nil && note.Home == "" {
		note.Home, err = d.homeLocked(i)
	}
	if i.State == protocol.Public && i.Ghost && moves(i, next) {
		note.Ghost, note.Class = true, n.bytes.class
	}
	return errors.Join(err, d.writeNoteLocked(n, next, note))
}

// noteMovedLocked: what was told until the rename is told no longer. If that fails it is not believed.
func (d *desk) noteMovedLocked(n *node, now *protocol.Item) {
	if err := d.noteLocked(n, now); err != nil {
		d.Log.Warn("a note tells of what is over", "path", d.pathLocked(now.Name), "error", err)
	}
}

// noteLocked writes down what the place of an item does not say.
func (d *desk) noteLocked(n *node, next *protocol.Item) error {
	note, err := d.noteOfLocked(n, next)
	n.bytes.class, n.bytes.shown = note.Class, note.Shown
	return errors.Join(err, d.writeNoteLocked(n, next, note))
}

func (d *desk) writeNoteLocked(n *node, next *protocol.Item, note protocol.Note) (err error) {
	text := string(note.Encode())
	if text == n.bytes.noted || text == "" && n.bytes.noted == closedNote && next.State != protocol.Staged {
		return nil // that it was closed says nothing of a file that is no longer a temp file
	}
	if text == "" {
		err = d.Store.ClearNote(n.bytes.at)
	} else {
		err = d.Store.SetNote(n.bytes.at, []byte(text))
	}
	if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		return err
	}
	n.bytes.noted = text
	return nil
}

// noteOfLocked is what there is to say of an item.
func (d *desk) noteOfLocked(n *node, next *protocol.Item) (note protocol.Note, err error) {
	note = protocol.Note{Attempts: next.Attempts, Uncounted: next.Uncounted && next.State == protocol.Claimed, Ghost: next.Ghost}
	if next.State == protocol.Public && next.Match.Class.InPlace() {
		if at := d.Rules.At(d.table.byID[uint64(next.Name.Folder)].path(), next.Name.Name); at.Class != next.Match.Class {
			note.Class = next.Match.Class.String()
		}
	}
	if next.Private() {
		note.Taint, note.Detail = next.Taint.Kind.String(), next.Taint.Detail
	}
	note.Shown = next.State == protocol.Public && (d.shownLocked(next.Name) || n.bytes.shown && next.Links > 1)
	note.Former = d.formersText(next.Former)
	note.Closed = next.State == protocol.Staged && next.Barrier == protocol.BarrierTemp
	switch next.State {
	case protocol.Held:
		note.Until = next.Until
	case protocol.Quarantined:
		note.Since = next.Since
	}
	note.Home, err = d.homeLocked(next)
	return note, err
}

// readNoteLocked takes over what the disk says beyond an item's place.
func (d *desk) readNoteLocked(n *node) (protocol.Note, error) {
	b, err := d.Store.Note(n.bytes.at)
	if err != nil || len(b) == 0 {
		return protocol.Note{}, err
	}
	return d.takeNoteLocked(n, string(b)), nil
}

// takeNoteLocked is readNoteLocked for a note that was read.
func (d *desk) takeNoteLocked(n *node, text string) protocol.Note {
	note, err := protocol.DecodeNote([]byte(text))
	if err != nil {
		d.Log.Warn("a note is not readable and is left out", "at", n.bytes.at.Folder+"/"+n.bytes.at.Name, "error", err)
		return protocol.Note{}
	}
	n.bytes.noted = text
	if text == closedNote {
		n.bytes.noted = closedNote // one copy of it is enough
	}
	n.bytes.shown = note.Shown
	i := &n.bytes.item
	i.Attempts, i.Uncounted, i.Ghost, i.Until = note.Attempts, note.Uncounted, note.Ghost, d.within(note.Until, i.Match.Quiet)
	if n.bytes.class = note.Class; note.Class != "" {
		i.Match = i.Match.As(note.Class)
	}
	if n.bytes.item.State != protocol.Public {
		i.Taint = protocol.Taint{Kind: protocol.ParseTaint(note.Taint), Detail: note.Detail}
	}
	i.Former = d.formersOf(note.Former)
	d.rememberFormersLocked(i.Former)
	if i.State == protocol.Quarantined && !note.Since.IsZero() {
		i.Since = d.past(note.Since) // rather than a time of the inode, which who still has it open can move
	}
	return note
}

// closedNote is all that most notes say.
var closedNote = string(protocol.Note{Closed: true}.Encode())
