package main

import (
	"context"
	"log/slog"
)

// phase is a group of works measured on one set of mounts.
type phase struct {
	name    string
	flags   []string                         // for airlockfs's mount
	prepare func(p plan, queue string) error // fills the queue folder of a backing; may be nil
	measure func(ctx context.Context, s *stage)
}

func phases() []phase {
	return []phase{
		handoffPhase(), freshPhase(), bulkPhase(), listingPhase(), appendingPhase(), claimantsPhase(),
	}
}

// bench is one run.
type bench struct {
	plan    plan
	self    string // this program's binary, for workers
	configs []config
	scratch string
	results *results
}

// run measures all phases. What can't be measured becomes a failure in the
// results.
func (b *bench) run(ctx context.Context) {
	for _, ph := range phases() {
		if ctx.Err() != nil {
			b.results.fail(ph.name, "all", context.Cause(ctx))
			continue
		}
		slog.Info("measuring", "phase", ph.name)
		b.perform(ctx, ph)
	}
}

func (b *bench) perform(ctx context.Context, ph phase) {
	s := &stage{phase: ph, plan: b.plan, self: b.self, results: b.results}
	defer s.close()
	s.open(ctx, b.configs, b.scratch)
	ph.measure(ctx, s)
}
