package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func tinyPlan() plan {
	return plan{
		handoffs: amount{4, 2}, fresh: amount{2, 2}, bulk: amount{2 * mib, 2}, small: amount{mib, 2},
		names: amount{50, 2}, appends: amount{4, 2}, contest: amount{8, 2}, hidden: 5, locks: amount{4, 2}, waiters: 5, held: []int{0, 7},
		step: 30 * time.Second, total: time.Minute,
	}
}

// newTestBench has the real native and loopback configurations; its cleanup
// proves that nothing stays mounted and that no file is left.
func newTestBench(t *testing.T, more ...config) *bench {
	self, err := os.Executable()
	require.NoError(t, err)
	scratch, err := newScratch("/dev/shm")
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, removeScratch(scratch))
		assert.NoDirExists(t, scratch)
	})
	all := configurations(self, "")
	configs := append([]config{all[0], all[2]}, more...)
	return &bench{plan: tinyPlan(), self: self, configs: configs, scratch: scratch, results: newResults()}
}

func TestEveryRowIsMeasured(t *testing.T) {
	b := newTestBench(t)
	b.run(t.Context())
	require.Empty(t, b.results.failures)
	for _, row := range budget(b.plan) {
		for _, c := range b.configs {
			samples := b.results.samples[row.work][c.name]
			assert.Len(t, samples, 2, "%s, %s", row.work, c.name)
			for _, v := range samples {
				assert.GreaterOrEqual(t, v, 0.0)
			}
		}
	}
	assert.Equal(t, []float64{0, 0}, b.results.samples[workDouble][loopback])
}

func TestAFailedMountSaysWhy(t *testing.T) {
	refuses := config{name: airlockfs, handsOff: true, command: func([]string, string, string) []string {
		return []string{"/bin/sh", "-c", "echo no such thing >&2; exit 3"}
	}}
	b := newTestBench(t, refuses)
	b.perform(t.Context(), handoffPhase())
	require.Len(t, b.results.failures, 1)
	assert.Equal(t, airlockfs, b.results.failures[0].Config)
	assert.Contains(t, b.results.failures[0].Reason, "mount failed: the daemon ended with exit status 3: no such thing")
	assert.Len(t, b.results.samples[workProduce][native], 2)
}

// A filesystem that hands nothing off must not pass for one that does: both
// claimants of an item get it, and what is hidden is listed.
func TestOrdinaryFilesystemIsNoAirlock(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	pretends := configurations(self, "")[2]
	pretends.name, pretends.handsOff = airlockfs, true
	b := newTestBench(t, pretends)
	b.perform(t.Context(), listingPhase())
	b.perform(t.Context(), handoffPhase())
	require.Len(t, b.results.failures, 2)
	assert.Contains(t, b.results.failures[0].Reason, "listed 55 names instead of 50")
	assert.Contains(t, b.results.failures[1].Reason, requestTotals)
}

// stopDaemon makes the daemon of the site's mount answer nothing any more.
func stopDaemon(at *site) {
	if at.mount != nil {
		at.mount.daemon.signal(unix.SIGSTOP)
	}
}

func TestDeadlineEndsAHangingMount(t *testing.T) {
	b := newTestBench(t)
	b.plan.step = time.Second
	b.perform(t.Context(), phase{name: "hang", measure: func(ctx context.Context, s *stage) {
		s.rounds(ctx, 2, func(ctx context.Context, at *site) (figures, error) {
			stopDaemon(at)
			_, err := at.producer.call(ctx, job{Op: opProduce, Dir: at.queue, Prefix: "item", Count: 1})
			return figures{workProduce: 1}, err
		})
	}})
	assert.Equal(t, []failure{{"hang", loopback, "produce: not done after 1s"}}, b.results.failures)
	assert.Len(t, b.results.samples[workProduce][native], 2)
	assert.Empty(t, b.results.samples[workProduce][loopback])
}

func TestADaemonThatDiesIsNamed(t *testing.T) {
	b := newTestBench(t)
	b.perform(t.Context(), phase{name: "crash", measure: func(ctx context.Context, s *stage) {
		s.rounds(ctx, 1, func(ctx context.Context, at *site) (figures, error) {
			if at.mount != nil {
				at.mount.daemon.kill()
			}
			_, err := at.producer.call(ctx, job{Op: opAppend, Dir: at.queue, Prefix: "item", Count: 2000, Block: kib})
			return nil, err
		})
	}})
	require.Len(t, b.results.failures, 1)
	assert.Contains(t, b.results.failures[0].Reason, "the daemon ended with signal: killed")
}

func TestInterruptEndsEverything(t *testing.T) {
	b := newTestBench(t)
	stopped := errors.New("stopped by hand")
	ctx, cancel := context.WithCancelCause(t.Context())
	var pids []int
	b.perform(ctx, phase{name: "interrupted", measure: func(ctx context.Context, s *stage) {
		for _, at := range s.sites {
			pids = append(pids, at.producer.process.cmd.Process.Pid, at.consumer.process.cmd.Process.Pid)
			stopDaemon(at)
		}
		cancel(stopped)
		s.rounds(ctx, 1, func(ctx context.Context, at *site) (figures, error) {
			_, err := at.producer.call(ctx, job{Op: opProduce, Dir: at.queue, Prefix: "item", Count: 1})
			return nil, err
		})
	}})
	require.Len(t, b.results.failures, 2)
	for _, f := range b.results.failures {
		assert.Contains(t, f.Reason, stopped.Error())
	}
	for _, pid := range pids {
		assert.ErrorIs(t, unix.Kill(pid, 0), unix.ESRCH)
	}
	b.run(ctx)
	assert.Len(t, b.results.failures, 2+len(phases()))
}

func TestWorkersAreStrangers(t *testing.T) {
	b := newTestBench(t)
	b.perform(t.Context(), phase{name: "sessions", measure: func(_ context.Context, s *stage) {
		for _, at := range s.sites {
			sessions := map[int]bool{}
			for _, c := range []*client{at.producer, at.consumer} {
				sid, err := unix.Getsid(c.process.cmd.Process.Pid)
				require.NoError(t, err)
				sessions[sid] = true
			}
			own, err := unix.Getsid(0)
			require.NoError(t, err)
			sessions[own] = true
			assert.Len(t, sessions, 3)
		}
	}})
}

func TestMountedScratchIsNotRemoved(t *testing.T) {
	b := newTestBench(t)
	b.perform(t.Context(), phase{name: "kept", measure: func(context.Context, *stage) {
		assert.ErrorContains(t, removeScratch(b.scratch), "still mounted")
	}})
	assert.DirExists(t, filepath.Join(b.scratch, "kept"))
}

func TestFailedJobReportsItsPath(t *testing.T) {
	b := newTestBench(t)
	c, err := startClient(b.self)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.close()) }()
	for opName := range ops() {
		_, err := c.call(t.Context(), job{Op: opName, Dir: filepath.Join(b.scratch, "absent"),
			Prefix: "x", Count: 2, Block: kib, Bytes: kib})
		if opName == opReady || opName == opDrop {
			assert.NoError(t, err, opName)
			continue
		}
		require.Error(t, err, opName)
		assert.Regexp(t, "absent|x-000000", err.Error(), opName)
	}
	_, err = c.call(t.Context(), job{Op: "dance"})
	assert.ErrorContains(t, err, `unknown job "dance"`)
}
