package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opProduce = "produce"
	opConsume = "consume"
)

// handoffPhase measures one hand-off of a small item between two long-lived
// processes, and what airlockfs is asked for it.
func handoffPhase() phase {
	return phase{name: "hand-off", flags: []string{"--sync=none"}, measure: measureHandoffs}
}

func measureHandoffs(ctx context.Context, s *stage) {
	count := s.plan.handoffs.size
	s.rounds(ctx, s.plan.handoffs.rounds, func(ctx context.Context, at *site) (figures, error) {
		produced, err := at.producer.call(ctx, job{Op: opProduce, Dir: at.queue, Prefix: "item", Count: count})
		if err != nil {
			return nil, err
		}
		consumed, err := at.consumer.call(ctx, job{Op: opConsume, Dir: at.queue, Prefix: "item", Count: count})
		if err != nil {
			return nil, err
		}
		return figures{
			workProduce: perUnit(produced.Times[0], count),
			workConsume: perUnit(consumed.Times[0], count),
		}, nil
	})
	s.rounds(ctx, 1, s.countHandoffs)
}

// countHandoffs asks airlockfs, the only one that counts, for its requests.
func (s *stage) countHandoffs(ctx context.Context, at *site) (figures, error) {
	if !at.config.handsOff {
		return nil, nil
	}
	items := job{Op: opProduce, Dir: at.queue, Prefix: "counted", Count: s.plan.handoffs.size}
	produced, err := countRequests(ctx, at, at.producer, items)
	if err != nil {
		return nil, err
	}
	items.Op = opConsume
	consumed, err := countRequests(ctx, at, at.consumer, items)
	if err != nil {
		return nil, err
	}
	s.results.requests[workProduce], s.results.requests[workConsume] = produced, consumed
	return nil, nil
}

// produce hands over the job's items one after the other. Times: all together.
func produce(j job) (reply, error) { return timeAll(j.paths(), produceItem) }

// consume takes the job's items one after the other. Times: all together.
func consume(j job) (reply, error) { return timeAll(j.paths(), consumeItem) }

func timeAll(paths []string, do func(path string) error) (reply, error) {
	begin := time.Now()
	for _, path := range paths {
		if err := do(path); err != nil {
			return reply{}, err
		}
	}
	return reply{Times: []time.Duration{time.Since(begin)}}, nil
}

var itemContent [itemBytes]byte

// produceItem makes one item appear under path, complete. What an error leaves
// open ends with the worker.
func produceItem(path string) error {
	temp := unfinished(path)
	fd, err := open(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	if err := writeBlock(fd, temp, itemContent[:]); err != nil {
		return err
	}
	if err := closeFile(fd, temp); err != nil {
		return err
	}
	return rename(temp, path)
}

// consumeItem takes the item at path away.
func consumeItem(path string) error {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return err
	}
	return finishItem(fd, path)
}

// finishItem reads, closes and removes an opened item.
func finishItem(fd int, path string) error {
	var content [2 * itemBytes]byte
	n, err := readBlock(fd, path, content[:])
	if err != nil {
		return err
	}
	if n != itemBytes {
		return fmt.Errorf("%s: read %d bytes instead of %d", path, n, itemBytes)
	}
	if err := closeFile(fd, path); err != nil {
		return err
	}
	return unlink(path)
}
