package fusefs

import (
	"errors"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// A state file that has been current stays visible under any name it is given, also a temp name: its note says so.

// shownLocked: under this name the file needs the note.
func (d *desk) shownLocked(name protocol.NameKey) bool {
	parent := d.table.byID[uint64(name.Folder)]
	if parent == nil || parent.kind != folderNode {
		return false
	}
	m := d.Rules.At(parent.path(), name.Name)
	return m.Class.Versioned() && m.Temp == protocol.TempByName
}

// noteShownLocked writes it down before a file gets a further name.
func (d *desk) noteShownLocked(n *node, name protocol.NameKey) error {
	if n.bytes.shown || !d.shownLocked(name) {
		return nil
	}
	note, err := d.noteOfLocked(n, &n.bytes.item)
	note.Shown = true
	if err = errors.Join(err, d.writeNoteLocked(n, &n.bytes.item, note)); err == nil {
		n.bytes.shown = true
	}
	return err
}

// knownShownLocked tells whether a file that nobody has looked up yet has the note.
func (d *desk) knownShownLocked(path string, e backing.Entry) bool {
	if !d.Rules.At(path, e.Name).Class.Versioned() {
		return false
	}
	b, err := d.Store.Note(backing.Object{Folder: path, Name: e.Name})
	if err != nil || len(b) == 0 {
		return false
	}
	note, err := protocol.DecodeNote(b)
	return err == nil && note.Shown
}
