package fusefs

import (
	"errors"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// A mark says on the disk whose it is by a record: a symbolic link, which is made in one step, and that on any filesystem. The
// mark comes first: who made one whose record is missing was never told that he has it.

func recordOfMark(number uint64) backing.Object {
	return backing.Object{Folder: marksArea, Name: strconv.FormatUint(number, 10)}
}

// recordMarkLocked writes down whose a mark is, and forgets whose it was.
func (d *desk) recordMarkLocked(x *mark) {
	key, err := d.keyLocked(d.table.byID[uint64(x.Name.Folder)])
	holder := d.Callers.Party(x.Holder())
	if err == nil && holder == nil {
		err = syscall.ESRCH
	}
	if err != nil {
		d.Log.Warn("whose a mark is could not be written down", "path", d.pathLocked(x.Name), "error", err)
		return
	}
	r := protocol.MarkRecord{Line: protocol.Line{Process: holder.Process}, Folder: key, Name: x.Name.Name, Ino: x.inode.Ino, Born: x.inode.Born,
		Since: x.Since, UID: x.UID, Number: x.number}
	if x.Named == 0 {
		r.Line = d.lineOf(holder)
		r.Number = 0
	}
	before := x.record
	if x.record, err = d.writeRecordLocked(r.String()); err != nil {
		d.Log.Warn("whose a mark is could not be written down: after a restart of airlockfs it is an ordinary file", "path", d.pathLocked(x.Name), "error", err)
	}
	d.forgetRecordLocked(before)
}

func (d *desk) writeRecordLocked(text string) (uint64, error) {
	for repaired := false; ; {
		d.marks.last++
		err := d.Store.SymlinkOwn(text, recordOfMark(d.marks.last))
		switch {
		case err == nil:
			return d.marks.last, nil
		case errors.Is(err, syscall.ENOENT) && !repaired && d.repairLocked() == nil:
			repaired = true
		case !errors.Is(err, syscall.EEXIST):
			return 0, err
		}
	}
}

func (d *desk) forgetRecordLocked(number uint64) {
	if number != 0 {
		d.doLocked(func() error { return d.Store.Remove(recordOfMark(number)) })
	}
}

// markRecordsLocked are the numbers of the records, in the order in which they were made.
func (d *desk) markRecordsLocked() ([]uint64, error) {
	var all []uint64
	err := d.Store.List(marksArea, func(e backing.Entry) error {
		number, err := strconv.ParseUint(e.Name, 10, 63)
		if err != nil || recordOfMark(number).Name != e.Name || e.Type != unix.DT_LNK && e.Type != unix.DT_UNKNOWN {
			d.leftAlone(marksArea + "/" + e.Name)
			return nil
		}
		all = append(all, number)
		d.marks.last = max(d.marks.last, number)
		return nil
	})
	if errors.Is(err, syscall.ENOENT) {
		err = nil // it is made at the first mark
	}
	slices.Sort(all)
	return all, err
}
