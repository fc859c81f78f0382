package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// site is one configuration in one phase: a backing, its mount, and two workers
// that are strangers to each other.
type site struct {
	config   config
	dir      string // what the workers see: the mount, or natively the backing
	queue    string // the folder in it that items are handed over in
	aside    string // where rename-claims move an item; "": opening claims
	mount    *mount // nil natively
	producer *client
	consumer *client
	failed   bool
}

// openSite makes everything below base. On error it leaves only files.
func openSite(ctx context.Context, b siteSpec) (*site, error) {
	backing, point := filepath.Join(b.base, "backing"), filepath.Join(b.base, "mnt")
	for _, dir := range []string{filepath.Join(backing, "queue"), filepath.Join(backing, "aside"), point} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if b.phase.prepare != nil {
		if err := b.phase.prepare(b.plan, filepath.Join(backing, "queue")); err != nil {
			return nil, err
		}
	}
	at := &site{config: b.config, dir: backing}
	if err := at.start(ctx, b, backing, point); err != nil {
		return nil, errors.Join(err, at.close())
	}
	return at, nil
}

// siteSpec says what to open where.
type siteSpec struct {
	config config
	phase  phase
	plan   plan
	self   string
	base   string
}

func (at *site) start(ctx context.Context, b siteSpec, backing, point string) (err error) {
	if b.config.command != nil {
		argv := b.config.command(b.phase.flags, backing, point)
		if at.mount, err = startMount(ctx, argv, point); err != nil {
			return err
		}
		at.dir = point
	}
	at.queue = filepath.Join(at.dir, "queue")
	if !b.config.handsOff {
		at.aside = filepath.Join(at.dir, "aside")
	}
	if at.producer, err = startClient(b.self); err != nil {
		return err
	}
	at.consumer, err = startClient(b.self)
	return err
}

// abort makes every call on the site's mount fail at once. It may be called
// beside anything but close.
func (at *site) abort() {
	if at.mount != nil {
		at.mount.abort()
	}
}

// close ends the workers, then the mount; the error tells what needed force.
func (at *site) close() error {
	if at.failed {
		at.abort() // a worker may wait for an answer that never comes
	}
	var errs []error
	for _, c := range []*client{at.producer, at.consumer} {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	if at.mount != nil {
		errs = append(errs, at.mount.stop())
	}
	return errors.Join(errs...)
}
