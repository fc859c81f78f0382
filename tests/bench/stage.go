package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// stage is a phase in progress: the sites that take turns in it.
type stage struct {
	phase   phase
	plan    plan
	self    string
	results *results
	sites   []*site
}

// step is one site's part of one round.
type step func(ctx context.Context, at *site) (figures, error)

// open prepares a site for each configuration; one that can't be had is a
// failure of that configuration.
func (s *stage) open(ctx context.Context, configs []config, scratch string) {
	for _, c := range configs {
		base := filepath.Join(scratch, strings.ReplaceAll(s.phase.name, " ", "-"), c.name)
		within, cancel := s.deadline(ctx)
		at, err := openSite(within, siteSpec{config: c, phase: s.phase, plan: s.plan, self: s.self, base: base})
		cancel()
		if err != nil {
			s.results.fail(s.phase.name, c.name, err)
			continue
		}
		s.sites = append(s.sites, at)
	}
}

func (s *stage) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.plan.step, fmt.Errorf("not done after %v", s.plan.step))
}

// rounds lets the sites take turns n times; each round starts with another one.
func (s *stage) rounds(ctx context.Context, n int, do step) {
	for round := range n {
		for i := range s.sites {
			s.turn(ctx, s.sites[(round+i)%len(s.sites)], do)
		}
	}
}

// turn does one step, unless the site failed before, and records its outcome.
func (s *stage) turn(ctx context.Context, at *site, do step) {
	if at.failed {
		return
	}
	begin := time.Now()
	within, cancel := s.deadline(ctx)
	defer cancel()
	defer context.AfterFunc(within, at.abort)()
	figures, err := do(within, at)
	if err != nil {
		at.failed = true
		if at.mount != nil && within.Err() == nil {
			err = at.mount.explain(err)
		}
		s.results.fail(s.phase.name, at.config.name, err)
		return
	}
	s.results.add(at.config.name, figures)
	slog.Debug("turn", "phase", s.phase.name, "config", at.config.name, "took", time.Since(begin))
}

// close ends all sites.
func (s *stage) close() {
	for _, at := range s.sites {
		if err := at.close(); err != nil {
			s.results.fail(s.phase.name, at.config.name, err)
		}
	}
}
