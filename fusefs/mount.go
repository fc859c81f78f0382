package fusefs

import (
	"os"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/airlockfs/airlockfs/fusefs/channel"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// Options are what a mount is, beside what it does.
type Options struct {
	Facts        report.Mount // what the control file "mount" tells; since when, and the pid, are filled in
	ReadOnly     bool
	MountOptions []string
}

// Mounted is a mount that serves.
type Mounted struct {
	desk *desk
	conn *channel.Conn
	done chan error
}

// Mount recovers what an earlier mount left, then mounts and serves. The store must have been acquired.
func Mount(c Config, o Options) (*Mounted, error) {
	d := newDesk(c)
	d.facts, d.readOnly = o.Facts, o.ReadOnly
	d.facts.Since, d.facts.PID = c.Now(), os.Getpid()
	d.host, _ = os.Hostname() // for people: a lease without it is still one
	if err := c.Store.WatchDisk(d.diskFails); err != nil {
		c.Log.Warn("airlockfs will not notice if the filesystem of the backing is unmounted", "error", err)
	}
	conn, err := d.connect(o)
	if err != nil {
		return nil, err
	}
	m := &Mounted{desk: d, conn: conn, done: make(chan error, 1)}
	go d.watch()
	go func() { m.done <- conn.Serve() }()
	return m, nil
}

// connect recovers and mounts. It holds the lock all the time, since what was recovered has clocks that run already.
func (d *desk) connect(o Options) (*channel.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.prepareLocked(); err != nil {
		return nil, err
	}
	d.addControlsLocked(map[string]virtual{
		"status": {tell: d.statusFor}, "locks": {tell: d.locksFor}, "mount": {tell: d.factsFor}, "events": {tell: d.eventsFor},
		"requests": {tell: d.requests.read}, "command": {do: d.command},
	})
	conn, err := channel.Mount(newFS(d), o.Facts.Mount, channel.Options{
		Source: o.Facts.Backing, Subtype: "airlockfs", ReadOnly: o.ReadOnly, AllowOther: true,
		MountOptions: o.MountOptions, Log: d.Log, Count: d.requests.add, Enable: fuse.CAP_HANDLE_KILLPRIV_V2,
	})
	if err != nil {
		return nil, err
	}
	if err := d.slots.spare(spareSlots); err != nil {
		d.Log.Warn("the disk is too full to set anything aside for when it is full", "error", err)
	}
	if err := d.setTokensAsideLocked(); err != nil {
		d.Log.Warn("no tokens for claims could be set aside: it is tried again at the first claim", "error", err)
	}
	d.handOn = conn.HandOn
	d.stale = func(node uint64) { _ = conn.NotifyInode(node, 0, 0) }
	return conn, nil
}

// prepareLocked takes up what is on the disk, before there is a mount.
func (d *desk) prepareLocked() error {
	_, errEarlier := d.Store.Stat(object(foldersArea))
	for _, area := range []string{foldersArea, replacedArea, tokensArea, marksArea} {
		if err := d.Store.MakePrivate(area); err != nil {
			return err
		}
	}
	err := d.recoverLocked()
	if errEarlier == nil && d.tokens.block == 0 {
		d.cautionLocked("nothing says which fencing tokens earlier mounts gave out: they go on from the clock's time, and come again only if it was set back")
	}
	return err
}

// Wait returns when the mount has ended, with the reason if it was not an unmount.
func (m *Mounted) Wait() error {
	err := <-m.done
	m.desk.stop()
	m.desk.syncs.running.Wait()
	return err
}

// OnlyMounter tells whether nobody but who mounted can use the mount.
func (m *Mounted) OnlyMounter() bool { return m.conn.OnlyMounter() }

// Unmount ends the mount; lazy: as soon as the last user is gone.
func (m *Mounted) Unmount(lazy bool) error { return m.conn.Unmount(lazy) }

// stop lets go of what only a serving mount needs. What is unfinished stays where it is, for the next one.
func (d *desk) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	for _, t := range d.timers {
		t.Stop()
	}
	d.quarantine.stop()
	for _, h := range d.handles {
		h.close()
	}
	d.catchUpLocked()
	d.slots.dropIdle()
}

var _ fuse.RawFileSystem = (*FS)(nil)
