package main

import (
	"context"
	"log/slog"
	"slices"
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
		handoffPhase(), freshPhase(), bulkPhase(), listingPhase(), appendingPhase(), claimantsPhase(), lockingPhase(),
	}
}

func phaseNames() (names []string) {
	for _, ph := range phases() {
		names = append(names, ph.name)
	}
	return names
}

// bench is one run.
type bench struct {
	plan    plan
	self    string // this program's binary, for workers
	only    string // the one phase to measure; "": all
	configs []config
	scratch string
	results *results
}

// run measures all phases. What can't be measured becomes a failure in the
// results.
func (b *bench) run(ctx context.Context) {
	for _, ph := range phases() {
		if b.only != "" && b.only != ph.name {
			continue
		}
		if ctx.Err() != nil {
			b.results.fail(ph.name, "all", context.Cause(ctx))
			continue
		}
		slog.Info("measuring", "phase", ph.name)
		b.perform(ctx, ph)
	}
}

// rows are those of the report: of all works, or of those that the one phase has measured.
func (b *bench) rows() []row {
	return slices.DeleteFunc(budget(b.plan), func(r row) bool { return b.only != "" && b.results.samples[r.work] == nil })
}

func (b *bench) perform(ctx context.Context, ph phase) {
	s := &stage{phase: ph, plan: b.plan, self: b.self, results: b.results}
	defer s.close()
	s.open(ctx, b.configs, b.scratch)
	ph.measure(ctx, s)
}
