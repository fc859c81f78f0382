package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opProduceFresh = "produce in fresh processes"
	opConsumeFresh = "consume in fresh processes"

	verbProduce = "produce"
	verbConsume = "consume"
)

// freshPhase measures a hand-off between processes that the filesystem has
// never seen before. Each times its own calls: starting it is not the
// filesystem's cost, being asked by somebody unknown is.
func freshPhase() phase {
	return phase{name: "fresh", flags: []string{"--sync=none"}, measure: measureFresh}
}

func measureFresh(ctx context.Context, s *stage) {
	count := s.plan.fresh.size
	s.rounds(ctx, s.plan.fresh.rounds, func(ctx context.Context, at *site) (figures, error) {
		produced, err := at.producer.call(ctx, job{Op: opProduceFresh, Dir: at.queue, Prefix: "fresh", Count: count})
		if err != nil {
			return nil, err
		}
		consumed, err := at.consumer.call(ctx, job{Op: opConsumeFresh, Dir: at.queue, Prefix: "fresh", Count: count})
		if err != nil {
			return nil, err
		}
		return figures{
			workProduceFresh: perUnit(middle(produced.Times), 1),
			workConsumeFresh: perUnit(middle(consumed.Times), 1),
		}, nil
	})
}

// middle is the (upper) median: a process start now and then meets a page fault
// or a migration that has nothing to do with the filesystem.
func middle(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// fresh runs one process per item of the job. Times: each by itself.
func fresh(verb string, j job) (reply, error) {
	self, err := os.Executable()
	if err != nil {
		return reply{}, err
	}
	var r reply
	for _, path := range j.paths() {
		took, err := runOnce(self, verb, path)
		if err != nil {
			return reply{}, err
		}
		r.Times = append(r.Times, took)
	}
	return r, nil
}

func runOnce(self, verb, path string) (time.Duration, error) {
	cmd := exec.Command(self, commandOnce, verb, path)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	said, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return 0, fmt.Errorf("%s %s: %w: %s", verb, filepath.Base(path), err, failed.Stderr)
	} else if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	return time.Duration(ns), err
}

// once is the life of a fresh process: args are a verb and an item's path; it
// prints the nanoseconds that its calls took.
func once(args []string) error {
	verbs := map[string]func(string) error{verbProduce: produceItem, verbConsume: consumeItem}
	if len(args) != 2 || verbs[args[0]] == nil {
		return fmt.Errorf("%s: want VERB PATH", commandOnce)
	}
	r, err := timeAll(args[1:], verbs[args[0]])
	if err != nil {
		return err
	}
	_, err = fmt.Println(r.Times[0].Nanoseconds())
	return err
}
