package fusefs

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// retained is a version that was written over and is kept for a time.
type retained struct {
	at    backing.Object
	until time.Time
}

// retainLocked gives a public version that is about to be written over a second name in the area of replaced ones. That
// this fails (a full disk) does not keep the new version back. One that lives on under another name of its own needs none,
// and one more link would count as a name that has to be removed before the item is settled.
func (d *desk) retainLocked(n *node) retained {
	i := &n.bytes.item
	if d.KeepReplaced == 0 || i.Match.Vector.Class.InPlace() || i.Links > 1 {
		return retained{}
	}
	key, err := d.keyLocked(d.table.byID[uint64(i.Name.Folder)])
	if err != nil {
		return retained{}
	}
	until := d.Now().Add(d.KeepReplaced)
	folder := replacedArea + "/" + strconv.FormatInt(until.UnixNano(), 10) + "~" + key
	to := backing.Object{Folder: folder, Name: i.Name.Name}
	r := retained{at: to, until: until}
	if err = d.Store.MakePrivate(folder); err == nil {
		err = d.Store.Link(n.bytes.at, to)
		d.Store.Forget(folder) // nobody uses it again
	}
	if err != nil {
		d.Log.Warn("a replaced version is not kept", "path", d.pathLocked(i.Name), "error", err)
		d.unretainLocked(r)
		return retained{}
	}
	d.replaced = append(d.replaced, r)
	d.expireLocked()
	return r
}

// retainOverLocked keeps a version before it is replaced: it gets a second name, so that the rename that replaces it is
// still one step.
func (d *desk) retainOverLocked(x *protocol.Effect) retained {
	over := d.table.byID[uint64(x.Over)]
	if x.Over == 0 || over == nil || x.Next.Private() {
		return retained{}
	}
	_, _ = d.statLocked(over) // remembered for those who have it open
	return d.retainLocked(over)
}

// unretainLocked: a version is not written over after all. Its second name must go: it would count as one of its own.
func (d *desk) unretainLocked(r retained) {
	if r != (retained{}) {
		d.replaced = slices.DeleteFunc(d.replaced, func(o retained) bool { return o == r })
		d.doLocked(func() error { return d.letGo(r) })
	}
}

// letGo removes a replaced version.
func (d *desk) letGo(r retained) error {
	if err := d.Store.Remove(r.at); err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	d.Store.Forget(r.at.Folder)
	err := d.Store.Rmdir(object(r.at.Folder))
	if errors.Is(err, syscall.ENOTEMPTY) {
		return nil // others of that moment
	}
	return err
}

// expireLocked lets go of replaced versions that were kept long enough.
func (d *desk) expireLocked() {
	for len(d.replaced) > 0 && !d.replaced[0].until.After(d.Now()) {
		old := d.replaced[0]
		d.replaced = d.replaced[1:]
		d.doLocked(func() error { return d.letGo(old) })
	}
}
