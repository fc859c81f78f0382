package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const opAppend = "append"

// appendingPhase measures a `>>` loop: each append opens the file anew, so that
// in a queue folder each makes a version derived from the one before. If that
// copied the file, the second half of the loop would take longer than the first.
func appendingPhase() phase { return phase{name: "appending", measure: measureAppending} }

func measureAppending(ctx context.Context, s *stage) {
	count := s.plan.appends.size
	s.rounds(ctx, s.plan.appends.rounds, func(ctx context.Context, at *site) (figures, error) {
		file := job{Op: opAppend, Dir: at.queue, Prefix: "grown", Count: count, Block: appendBlock}
		grown, err := at.producer.call(ctx, file)
		if err != nil {
			return nil, err
		}
		check := job{Op: opRead, Dir: at.queue, Prefix: "grown", Bytes: count * appendBlock, Block: largeBlock}
		if _, err := at.consumer.call(ctx, check); err != nil {
			return nil, err
		}
		if _, err := at.consumer.call(ctx, job{Op: opRemove, Dir: at.queue, Prefix: "grown"}); err != nil {
			return nil, err
		}
		first, second := grown.Times[0], grown.Times[1]
		return figures{
			workAppend:    perUnit(first+second, count),
			workLinearity: second.Seconds() / first.Seconds(),
		}, nil
	})
}

// appendLoop appends the job's count of blocks to one file. Times: the first
// half of them, the second half.
func appendLoop(j job) (reply, error) {
	if j.Count%2 != 0 {
		return reply{}, fmt.Errorf("%d appends have no halves", j.Count)
	}
	path, block := j.path(), make([]byte, j.Block)
	var r reply
	for range 2 {
		begin := time.Now()
		for range j.Count / 2 {
			if err := appendOnce(path, block); err != nil {
				return reply{}, err
			}
		}
		r.Times = append(r.Times, time.Since(begin))
	}
	return r, nil
}

func appendOnce(path string, block []byte) error {
	fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	if err != nil {
		return err
	}
	if err := writeBlock(fd, path, block); err != nil {
		return err
	}
	return closeFile(fd, path)
}
