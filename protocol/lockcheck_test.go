package protocol

import (
	"fmt"
	"maps"
)

// check proves what must hold between any two calls.
func (l *Locks) check() error {
	count := map[uint64]int{}
	for i, k := range l.held.locks {
		if k.Start > k.End || k.End > ToEOF || k.Kind == Flock && (k.Start != 0 || k.End != ToEOF) {
			return fmt.Errorf("lock %d has the impossible range [%d, %d]", i, k.Start, k.End)
		}
		if err := l.checkPairs(i, k); err != nil {
			return err
		}
		count[k.Owner]++
	}
	if !maps.Equal(count, l.held.count) {
		return fmt.Errorf("the locks of owners are counted as %v, and are %v", l.held.count, count)
	}
	return l.checkQueue()
}

// checkPairs compares lock i with those before it, and its reach with them.
func (l *Locks) checkPairs(i int, k Lock) error {
	far := k.End
	for j, h := range l.held.locks[:i] {
		far = max(far, h.End)
		if h.Start > k.Start {
			return fmt.Errorf("locks %d and %d are not in order of Start", j, i)
		}
		if Conflict(h, k) {
			return fmt.Errorf("locks %d and %d conflict", j, i)
		}
		if !h.replaces(k) {
			continue
		}
		if h.End >= k.Start || h.End+1 == k.Start && h.Mode == k.Mode {
			return fmt.Errorf("locks %d and %d of owner %d overlap or should be one", j, i, k.Owner)
		}
	}
	if len(l.held.reach) != len(l.held.locks) || l.held.reach[i] != far {
		return fmt.Errorf("reach[%d] is not the largest End up to there, %d", i, far)
	}
	return nil
}

// checkQueue: whoever waits, waits for something.
func (l *Locks) checkQueue() error {
	for i, w := range l.queue {
		if _, blocked := l.Blocker(w); w.Granted || !blocked {
			return fmt.Errorf("waiter %d of owner %d waits for nothing", i, w.Owner)
		}
	}
	return nil
}
