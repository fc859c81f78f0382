package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opList = "list"
	opHold = "hold"
	opDrop = "drop"
)

// listingPhase measures listing a large folder: first of public names only, then
// with staged files beside them that a stranger holds open. Where nothing is
// hidden the second listing is the first one again.
func listingPhase() phase {
	return phase{name: "listing", prepare: fillQueue, measure: measureListing}
}

// fillQueue puts the names there before the mount.
func fillQueue(p plan, queue string) error {
	for _, path := range (job{Dir: queue, Prefix: "listed", Count: p.names.size}).paths() {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func measureListing(ctx context.Context, s *stage) {
	listAs := func(work string) step {
		return func(ctx context.Context, at *site) (figures, error) {
			perName, err := listQueue(ctx, at, s.plan.names.size)
			return figures{work: perName}, err
		}
	}
	s.rounds(ctx, 1, func(ctx context.Context, at *site) (figures, error) { // warms up
		_, err := listQueue(ctx, at, s.plan.names.size)
		return nil, err
	})
	s.rounds(ctx, s.plan.names.rounds, listAs(workList))
	s.rounds(ctx, 1, s.heldBy(opHold))
	s.rounds(ctx, s.plan.names.rounds, listAs(workListHidden))
	s.rounds(ctx, 1, s.heldBy(opDrop))
}

// heldBy has the producer begin or end holding the hidden files.
func (s *stage) heldBy(op string) step {
	return func(ctx context.Context, at *site) (figures, error) {
		if !at.config.handsOff {
			return nil, nil
		}
		_, err := at.producer.call(ctx, job{Op: op, Dir: at.queue, Prefix: "hidden", Count: s.plan.hidden})
		return nil, err
	}
}

// listQueue returns the µs per name, and insists on exactly the public names.
func listQueue(ctx context.Context, at *site, names int) (float64, error) {
	r, err := at.consumer.call(ctx, job{Op: opList, Dir: at.queue})
	if err != nil {
		return 0, err
	}
	if r.Count != names {
		return 0, fmt.Errorf("listed %d names instead of %d", r.Count, names)
	}
	return perUnit(r.Times[0], names), nil
}

// list reads a folder once. Times: from its open to its close.
func list(j job) (reply, error) {
	begin := time.Now()
	names, err := readNames(j.Dir)
	return reply{Times: []time.Duration{time.Since(begin)}, Count: len(names)}, err
}

// readNames lists a folder as readdir(3) does, by buffers of 32 KiB.
func readNames(dir string) ([]string, error) {
	fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	var names []string
	buffer := make([]byte, 32*kib)
	for {
		n, err := uninterrupted("getdents", dir, func() (int, error) { return unix.ReadDirent(fd, buffer) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return names, closeFile(fd, dir)
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// holder keeps unfinished files open between two jobs.
type holder struct {
	files []*os.File
}

func (h *holder) hold(j job) (reply, error) {
	for _, path := range j.paths() {
		f, err := os.OpenFile(unfinished(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return reply{}, fmt.Errorf("after %d held files: %w", len(h.files), err)
		}
		h.files = append(h.files, f)
	}
	return reply{}, nil
}

func (h *holder) drop(j job) (reply, error) {
	for _, f := range h.files {
		if err := f.Close(); err != nil {
			return reply{}, err
		}
		if err := unlink(filepath.Join(j.Dir, filepath.Base(f.Name()))); err != nil {
			return reply{}, err
		}
	}
	h.files = nil
	return reply{}, nil
}
