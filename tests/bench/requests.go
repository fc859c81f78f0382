package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// requests counts what the kernel asked a filesystem, by opcode.
type requests map[string]float64

// requestTotals is where airlockfs shows its totals since the mount.
const requestTotals = ".airlockfs/requests"

// parseRequests reads a JSON object of opcode names and counts.
func parseRequests(text string) (requests, error) {
	var r requests
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("%s: %w", requestTotals, err)
	}
	for opcode, n := range r {
		if n < 0 {
			return nil, fmt.Errorf("%s: %s: negative count", requestTotals, opcode)
		}
	}
	return r, nil
}

// minus is r without the requests in other; opcodes that become zero vanish.
func (r requests) minus(other requests) requests {
	rest := requests{}
	for opcode, n := range r {
		if left := n - other[opcode]; left > 0 {
			rest[opcode] = left
		}
	}
	return rest
}

// per spreads the counts over n items.
func (r requests) per(n int) requests {
	each := requests{}
	for opcode, total := range r {
		each[opcode] = total / float64(n)
	}
	return each
}

func (r requests) sum() float64 {
	total := 0.0
	for _, n := range r {
		total += n
	}
	return total
}

// countRequests has c do the job and tells what one of its items cost. The
// reading of the totals is itself a few requests: it is measured first, by
// reading twice, and taken off.
func countRequests(ctx context.Context, at *site, c *client, j job) (requests, error) {
	first, err := readRequests(ctx, at)
	if err != nil {
		return nil, err
	}
	before, err := readRequests(ctx, at)
	if err != nil {
		return nil, err
	}
	if _, err := c.call(ctx, j); err != nil {
		return nil, err
	}
	after, err := readRequests(ctx, at)
	if err != nil {
		return nil, err
	}
	reading := before.minus(first)
	return after.minus(before).minus(reading).per(j.Count), nil
}

func readRequests(ctx context.Context, at *site) (requests, error) {
	dir, name := filepath.Split(filepath.Join(at.dir, requestTotals))
	r, err := at.consumer.call(ctx, job{Op: opText, Dir: dir, Prefix: name})
	if err != nil {
		return nil, err
	}
	return parseRequests(r.Text)
}
