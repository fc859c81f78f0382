package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const opClaim = "claim"

// claimantCounts are the sizes of the crowds. The last is held against the best
// of the others.
var claimantCounts = []int{1, 4, 16, 64}

// claimantsPhase measures strangers who compete for the same items: each lists
// the folder and tries every name, until the folder is empty.
func claimantsPhase() phase { return phase{name: "claimants", measure: measureClaimants} }

func measureClaimants(ctx context.Context, s *stage) {
	s.rounds(ctx, s.plan.contest.rounds, func(ctx context.Context, at *site) (figures, error) {
		all := figures{workDouble: 0}
		var rates []float64
		for _, n := range claimantCounts {
			c, err := s.contest(ctx, at, n)
			if err != nil {
				return nil, fmt.Errorf("%d claimants: %w", n, err)
			}
			all[workTries(n)] = c.tries
			all[workHandoffs(n)] = c.handoffs
			all[workDouble] += float64(c.double)
			rates = append(rates, c.tries)
		}
		last := len(rates) - 1
		all[workContest] = rates[last] / slices.Max(rates[:last])
		return all, nil
	})
}

// contest is the outcome of one competition; the rates are per second.
type contest struct {
	tries, handoffs float64
	double          int // items that two claimants got
}

// contest hands out items to n claimants at once.
func (s *stage) contest(ctx context.Context, at *site, n int) (c contest, err error) {
	items := job{Op: opProduce, Dir: at.queue, Prefix: "contested", Count: s.plan.contest.size}
	if _, err := at.producer.call(ctx, items); err != nil {
		return contest{}, err
	}
	crowd, err := s.gather(ctx, n)
	defer func() { err = errors.Join(err, disperse(crowd)) }()
	if err != nil {
		return contest{}, err
	}
	replies, err := callAll(ctx, crowd, job{Op: opClaim, Dir: at.queue, Aside: at.aside})
	if err != nil {
		return contest{}, err
	}
	return judge(replies, items.Count)
}

// gather starts n claimants and returns when all of them are ready.
func (s *stage) gather(ctx context.Context, n int) ([]*client, error) {
	var crowd []*client
	for range n {
		c, err := startClient(s.self)
		if err != nil {
			return crowd, err
		}
		crowd = append(crowd, c)
	}
	_, err := callAll(ctx, crowd, job{Op: opReady})
	return crowd, err
}

// disperse ends all claimants beside each other: one by one takes too long if
// each must be killed.
func disperse(crowd []*client) error {
	errs := make([]error, len(crowd))
	var ends sync.WaitGroup
	for i, c := range crowd {
		ends.Go(func() { errs[i] = c.close() })
	}
	ends.Wait()
	return errors.Join(errs...)
}

// callAll gives the same job to all clients at once. Its error is the first one's.
func callAll(ctx context.Context, crowd []*client, j job) ([]reply, error) {
	replies, errs := make([]reply, len(crowd)), make([]error, len(crowd))
	var calls sync.WaitGroup
	for i, c := range crowd {
		calls.Go(func() { replies[i], errs[i] = c.call(ctx, j) })
	}
	calls.Wait()
	return replies, cmp.Or(errs...)
}

// judge adds up what the claimants report. Every one of the items must have
// been claimed by somebody.
func judge(replies []reply, items int) (contest, error) {
	begin, end := replies[0].Begin, replies[0].End
	claimed, tries, total := map[string]int{}, 0, 0
	for _, r := range replies {
		begin, end = min(begin, r.Begin), max(end, r.End)
		tries += r.Count
		for _, name := range r.Names {
			claimed[name]++
			total++
		}
	}
	if len(claimed) != items {
		return contest{}, fmt.Errorf("%d of %d items were claimed", len(claimed), items)
	}
	seconds := (end - begin).Seconds()
	return contest{
		tries:    float64(tries) / seconds,
		handoffs: float64(len(claimed)) / seconds,
		double:   total - len(claimed),
	}, nil
}

// claimAll competes until the folder lists nothing more. Count: tries; Names:
// the items it got.
func claimAll(j job) (r reply, err error) {
	if r.Begin, err = now(); err != nil {
		return r, err
	}
	for {
		names, err := readNames(j.Dir)
		if err != nil {
			return r, err
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			r.Count++
			got, err := tryItem(j, name)
			if err != nil {
				return r, err
			}
			if got {
				r.Names = append(r.Names, name)
			}
		}
	}
	r.End, err = now()
	return r, err
}

// tryItem tries to claim, and consumes what it got. Losing is no error.
func tryItem(j job, name string) (got bool, err error) {
	path := filepath.Join(j.Dir, name)
	if j.Aside != "" {
		mine := filepath.Join(j.Aside, name+"."+strconv.Itoa(os.Getpid()))
		if err := rename(path, mine); err != nil {
			return false, unlessLost(err)
		}
		path = mine
	}
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return false, unlessLost(err)
	}
	// That another one removed it meanwhile shows as an item claimed twice.
	return true, unlessLost(finishItem(fd, path))
}

// unlessLost is nil for the errors that tell a claimant it came too late.
func unlessLost(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}
