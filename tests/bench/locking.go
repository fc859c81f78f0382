package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opFlock = "flock"
	opHeld  = "held"
	opLine  = "line"

	lockName = "bench.lock"
)

// lockingPhase measures locks on one file: by one process, by many at once, beside many others, and with a long line. Those
// on bindfs and loopback are the kernel's own: neither is asked for them.
func lockingPhase() phase { return phase{name: "locks", measure: measureLocks} }

func measureLocks(ctx context.Context, s *stage) {
	s.rounds(ctx, s.plan.locks.rounds, func(ctx context.Context, at *site) (figures, error) {
		lock := job{Dir: at.queue, Prefix: lockName, Count: s.plan.locks.size}
		all := figures{}
		for _, measure := range []func(context.Context, *site, job, figures) error{s.lockAlone, s.lockBeside, s.lockInLine, s.lockAgainst} {
			if err := measure(ctx, at, lock, all); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

func (s *stage) lockAlone(ctx context.Context, at *site, j job, all figures) error {
	j.Op = opFlock
	r, err := at.producer.call(ctx, j)
	if err == nil {
		all[workFlock] = perUnit(r.End-r.Begin, j.Count)
	}
	return err
}

func (s *stage) lockBeside(ctx context.Context, at *site, j job, all figures) error {
	j.Op, j.Held = opHeld, s.plan.held
	r, err := at.producer.call(ctx, j)
	for i, n := range s.plan.held {
		if err == nil {
			all[workHeld(n)] = perUnit(r.Times[i], j.Count)
		}
	}
	return err
}

func (s *stage) lockInLine(ctx context.Context, at *site, j job, all figures) error {
	j.Op, j.Count = opLine, s.plan.waiters
	r, err := at.producer.call(ctx, j)
	if err == nil {
		all[workLine] = perUnit(r.Times[0], j.Count)
	}
	return err
}

// lockAgainst has a crowd of processes take turns. The count is each one's share.
func (s *stage) lockAgainst(ctx context.Context, at *site, j job, all figures) (err error) {
	crowd, err := s.gather(ctx, contenders)
	defer func() { err = errors.Join(err, disperse(crowd)) }()
	if err != nil {
		return err
	}
	j.Op, j.Count = opFlock, max(s.plan.locks.size/contenders, 1)
	replies, err := callAll(ctx, crowd, j)
	if err != nil {
		return err
	}
	begin, end := replies[0].Begin, replies[0].End
	for _, r := range replies {
		begin, end = min(begin, r.Begin), max(end, r.End)
	}
	all[workContended] = perUnit(end-begin, contenders*j.Count)
	return nil
}

// flockLoop locks and unlocks the whole file, over and over.
func flockLoop(j job) (r reply, err error) {
	fd, err := open(j.path(), unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return r, err
	}
	if r.Begin, err = now(); err != nil {
		return r, err
	}
	for range j.Count {
		if err = lockFile(fd, unix.LOCK_EX); err == nil {
			err = lockFile(fd, unix.LOCK_UN)
		}
		if err != nil {
			return r, err
		}
	}
	if r.End, err = now(); err != nil {
		return r, err
	}
	return r, closeFile(fd, j.path())
}

func lockFile(fd, how int) error {
	_, err := uninterrupted("flock", lockName, func() (struct{}, error) { return struct{}{}, unix.Flock(fd, how) })
	return err
}

// lockBeside locks and unlocks a byte while more and more other bytes are locked. Times: one for each of Held.
func lockBeside(j job) (r reply, err error) {
	fd, err := open(j.path(), unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return r, err
	}
	held := 0
	for _, n := range j.Held {
		for ; held < n; held++ {
			if err = lockByte(fd, 2*held, unix.F_WRLCK); err != nil {
				return r, err
			}
		}
		begin := time.Now()
		for range j.Count {
			if err = errors.Join(lockByte(fd, 1_000_000, unix.F_WRLCK), lockByte(fd, 1_000_000, unix.F_UNLCK)); err != nil {
				return r, err
			}
		}
		r.Times = append(r.Times, time.Since(begin))
	}
	return r, closeFile(fd, j.path())
}

func lockByte(fd, at int, how int16) error {
	err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: how, Start: int64(at), Len: 1})
	if err != nil {
		return fmt.Errorf("fcntl %s: %w", lockName, err)
	}
	return nil
}

// lockInLine has threads wait for a lock, each by an open file of its own, and each let it go once it has it. Times: from
// when all of them stand in line to when the last has had it.
func lockInLine(j job) (reply, error) {
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for range j.Count + 1 {
		fd, err := open(j.path(), unix.O_RDWR|unix.O_CREAT)
		if err != nil {
			return reply{}, err
		}
		fds = append(fds, fd)
	}
	if err := lockFile(fds[0], unix.LOCK_EX); err != nil {
		return reply{}, err
	}
	errs := make([]error, j.Count)
	var line sync.WaitGroup
	for i, fd := range fds[1:] {
		line.Go(func() {
			if errs[i] = lockFile(fd, unix.LOCK_EX); errs[i] == nil {
				errs[i] = lockFile(fd, unix.LOCK_UN)
			}
		})
	}
	if err := untilWaiting(j.Count); err != nil {
		return reply{}, err
	}
	begin := time.Now()
	err := lockFile(fds[0], unix.LOCK_UN)
	line.Wait()
	return reply{Times: []time.Duration{time.Since(begin)}}, errors.Join(append(errs, err)...)
}
