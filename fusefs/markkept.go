package fusefs

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// keptMark is a folder or link in quarantine. It is no item: it has no bytes that anybody could want to deliver, so it is only
// kept to be looked at.
type keptMark struct {
	at    backing.Object
	since time.Time
}

const (
	mostKeptMarks = 256 // the oldest go first
	mostInMark    = 8   // files in a folder that is a mark
)

// littleInLocked: a folder is taken away only while it has nothing in it but what people write into a lock: a few small files.
func (d *desk) littleInLocked(at backing.Object) (names []string, little bool, err error) {
	little = true
	err = d.Store.List(inside(at), func(e backing.Entry) error {
		st, err := d.Store.Stat(backing.Object{Folder: inside(at), Name: e.Name})
		names = append(names, e.Name)
		little = little && len(names) <= mostInMark && st.IsRegular() && st.Size <= protocol.LongestMark
		if err == nil && !little {
			err = errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return names, little, err
}

// isMarkFolderLocked: one with files in it has one that names its holder, or they are empty yet. Others are parts of trees that
// somebody has copied.
func (d *desk) isMarkFolderLocked(x *mark) (bool, error) {
	at := d.outsideLocked(x.Name)
	names, little, err := d.littleInLocked(at)
	if err != nil || !little || len(names) == 0 {
		return little, err
	}
	holder, empty := d.Callers.Party(x.Holder()), true
	for _, name := range names {
		text, err := d.readMarkFileLocked(backing.Object{Folder: inside(at), Name: name})
		if err != nil {
			return false, err
		}
		if len(text.PIDs) > 0 && (text.Alone || holder != nil && slices.Contains(text.PIDs, holder.Process.PID)) {
			return true, nil
		}
		empty = empty && text.Alone && len(text.PIDs) == 0
	}
	return empty, nil
}

// inside is a folder by its path.
func inside(at backing.Object) string {
	if at.Folder == "" {
		return at.Name
	}
	return at.Folder + "/" + at.Name
}

// keepMarkLocked: a folder or link has come into quarantine. Old ones go.
func (d *desk) keepMarkLocked(at backing.Object) {
	d.marks.kept = append(d.marks.kept, keptMark{at, d.Now()})
	d.boundMarksLocked()
}

func (d *desk) boundMarksLocked() {
	k := &d.marks.kept
	for len(*k) > 0 {
		old := (*k)[0]
		if len(*k) <= mostKeptMarks && (d.Quarantine.Keep == 0 || d.Now().Sub(old.since) < d.Quarantine.Keep) {
			return
		}
		*k = (*k)[1:]
		d.doLocked(func() error { return d.discardMarkLocked(old.at) })
	}
}

func (d *desk) discardMarkLocked(at backing.Object) error {
	st, err := d.Store.Stat(at)
	if err != nil {
		return err
	}
	if st.IsFolder() {
		err = d.removeLittleLocked(at)
	} else {
		err = d.Store.Remove(at)
	}
	if err == nil {
		d.slots.leave(at)
	}
	return err
}

func (d *desk) removeLittleLocked(at backing.Object) error {
	names, little, err := d.littleInLocked(at)
	if err != nil || !little {
		return err // somebody has put something into it: it stays
	}
	for _, name := range names {
		err = errors.Join(err, d.Store.Remove(backing.Object{Folder: inside(at), Name: name}))
	}
	if err != nil {
		return err
	}
	return d.Store.Rmdir(at)
}

// relicOfMarkLocked takes notice of a folder or link that an earlier mount has put into quarantine.
func (d *desk) relicOfMarkLocked(p protocol.Place, at backing.Object, st backing.Stat) {
	kind := st.Mode & unix.S_IFMT
	if p.State != protocol.Quarantined || kind != unix.S_IFDIR && kind != unix.S_IFLNK {
		return
	}
	d.slots.names[at.Folder][at.Name] = struct{}{}
	d.marks.kept = append(d.marks.kept, keptMark{at, d.past(time.Unix(st.Ctime.Unix()))})
}

// recoverMarksLocked takes up the marks of an earlier mount.
func (d *desk) recoverMarksLocked() error {
	slices.SortFunc(d.marks.kept, func(a, b keptMark) int { return a.since.Compare(b.since) })
	d.boundMarksLocked()
	names, err := d.markRecordsLocked()
	for _, number := range names {
		err = errors.Join(err, d.recoverMarkLocked(number))
	}
	return err
}

// recoverMarkLocked: a mark of who lives is his. What has become of who does not, nobody knows: it is an ordinary file.
func (d *desk) recoverMarkLocked(number uint64) error {
	text, err := d.Store.Readlink(recordOfMark(number))
	if err != nil {
		return err
	}
	r, err := protocol.ParseMarkRecord(text)
	parent := d.keys[r.Folder]
	if err != nil || parent == nil || !isName(r.Name) {
		d.forgetRecordLocked(number)
		return nil
	}
	st, err := d.Store.Stat(backing.Object{Folder: parent.path(), Name: r.Name})
	holder := d.survivorLocked(protocol.Place{State: protocol.Claimed, Owner: r.Line.Process, Heirs: r.Line.Heirs})
	switch which := d.Rules.At(parent.path(), r.Name).Marks(parent.path(), r.Name); {
	case err != nil && !errors.Is(err, syscall.ENOENT):
		return err
	case err != nil || st.Ino != r.Ino || st.Born != r.Born || holder == nil || which == protocol.NoMark:
		d.forgetRecordLocked(number)
	default:
		kind := st.Mode & unix.S_IFMT
		x := &mark{Mark: protocol.Mark{Name: parent.key(r.Name), Maker: holder.ID, Since: d.past(r.Since), UID: r.UID}, inode: st.ID, which: which,
			number: r.Number, folder: kind == unix.S_IFDIR, link: kind == unix.S_IFLNK, record: number}
		if r.Number != 0 {
			x.Named = holder.ID
		}
		if earlier := d.markLocked(x.Name); earlier != nil {
			d.dropMarkLocked(earlier) // a crash came between two records of it
		}
		d.addMarkLocked(x)
		if r.Number == 0 {
			d.readMarkLocked(x)
		}
		_, err = d.fileLocked(x.Name)
		return err
	}
	return nil
}
