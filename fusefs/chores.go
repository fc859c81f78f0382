package fusefs

import (
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/backing"
)

// chores are what has to be done on the disk beside what was decided, and was refused by it: it is tried again, at longer
// and longer intervals and when the mount ends. Guarded by desk.mu.
type chores struct {
	left []func() error
	wait time.Duration // until they are tried again, 0: there are none
}

// doLocked does something on the disk that nobody waits for, now or later. That what it is about is not there any more is
// no error.
func (d *desk) doLocked(chore func() error) {
	if err := chore(); err == nil || errors.Is(err, syscall.ENOENT) {
		return
	}
	d.chores.left = append(d.chores.left, chore)
	if d.chores.wait == 0 {
		d.chores.wait = firstRetry
		d.choresLater()
	}
}

func (d *desk) choresLater() {
	time.AfterFunc(d.chores.wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.stopped || d.catchUpLocked() {
			d.chores.wait = 0
			return
		}
		d.chores.wait = min(2*d.chores.wait, longestRetry)
		d.choresLater()
	})
}

// catchUpLocked does what was left, and tells whether that was all.
func (d *desk) catchUpLocked() bool {
	var left []func() error
	for _, chore := range d.chores.left {
		if err := chore(); err != nil && !errors.Is(err, syscall.ENOENT) {
			left = append(left, chore)
		}
	}
	d.chores.left = left
	return len(left) == 0
}

// discardLocked removes a file that was made for a call that then failed. Under a public name it is not tried again: by
// then it could be somebody else's. In the control folder its place stays taken until it is gone.
func (d *desk) discardLocked(f *backing.File, at backing.Object) {
	f.Close()
	if !strings.HasPrefix(at.Folder, backing.Control+"/") {
		_ = d.Store.Remove(at)
		return
	}
	d.doLocked(func() error {
		err := d.Store.Remove(at)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			d.slots.leave(at)
		}
		return err
	})
}
