package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opWrite  = "write"
	opRead   = "read"
	opRemove = "remove"

	bulkName = "bulk"
)

// bulkPhase measures the throughput of large items: written unfinished by one
// process, claimed and read by a stranger. The backing being a tmpfs, they are
// always cached there.
func bulkPhase() phase { return phase{name: "bulk", measure: measureBulk} }

func measureBulk(ctx context.Context, s *stage) {
	s.rounds(ctx, s.plan.bulk.rounds, func(ctx context.Context, at *site) (figures, error) {
		size := s.plan.bulk.size
		wrote, read, err := passBulk(ctx, at, size, largeBlock)
		return figures{workWrite: throughput(size, wrote), workRead: throughput(size, read)}, err
	})
	s.rounds(ctx, s.plan.small.rounds, func(ctx context.Context, at *site) (figures, error) {
		size := s.plan.small.size
		wrote, _, err := passBulk(ctx, at, size, smallBlock)
		return figures{workWriteSmall: throughput(size, wrote)}, err
	})
}

// passBulk hands one item of size bytes over and removes it. The reader always
// reads by 1 MiB.
func passBulk(ctx context.Context, at *site, size, block int) (wrote, read time.Duration, err error) {
	item := job{Op: opWrite, Dir: at.queue, Prefix: bulkName, Bytes: size, Block: block}
	w, err := at.producer.call(ctx, item)
	if err != nil {
		return 0, 0, err
	}
	item.Op, item.Block = opRead, largeBlock
	r, err := at.consumer.call(ctx, item)
	if err != nil {
		return 0, 0, err
	}
	item.Op = opRemove
	if _, err := at.consumer.call(ctx, item); err != nil {
		return 0, 0, err
	}
	return w.Times[0], r.Times[0], nil
}

// writeStream writes an item in blocks and publishes it. Times: from the open
// to the end of the close.
func writeStream(j job) (reply, error) {
	temp := unfinished(j.path())
	block := make([]byte, j.Block)
	begin := time.Now()
	fd, err := open(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return reply{}, err
	}
	for range j.Bytes / j.Block {
		if err := writeBlock(fd, temp, block); err != nil {
			return reply{}, err
		}
	}
	if err := closeFile(fd, temp); err != nil {
		return reply{}, err
	}
	took := time.Since(begin)
	return reply{Times: []time.Duration{took}}, rename(temp, j.path())
}

// readStream reads an item to its end, which must come after the job's bytes.
// Times: from the open, which claims, to the end of the close.
func readStream(j job) (reply, error) {
	path, block := j.path(), make([]byte, j.Block)
	begin := time.Now()
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return reply{}, err
	}
	size := 0
	for {
		n, err := readBlock(fd, path, block)
		if err != nil {
			return reply{}, err
		}
		if n == 0 {
			break
		}
		size += n
	}
	if err := closeFile(fd, path); err != nil {
		return reply{}, err
	}
	took := time.Since(begin)
	if size != j.Bytes {
		return reply{}, fmt.Errorf("%s: read %d bytes instead of %d", path, size, j.Bytes)
	}
	return reply{Times: []time.Duration{took}}, nil
}

func remove(j job) (reply, error) { return reply{}, unlink(j.path()) }
