package main

import (
	"errors"
	"fmt"
	"time"
)

const (
	// answerTime is how long the last users of a drained mount have to get their answers, and to leave it.
	answerTime = time.Second

	// mostNamed is how many of those who are waited for are named in the log.
	mostNamed = 20
)

// unmountDrained begins nothing new, waits at most --drain for what is under way, and unmounts. Who still uses the mount
// then loses it; what he had claimed stays his for the next mount. Another signal ends the wait.
func (s *serving) unmountDrained(ended <-chan error) error {
	told := time.Now()
	until := told.Add(s.drain)
	done := s.mount.Drain(until)
	s.sayWaiting(until)
	over := time.After(s.drain)
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case <-over:
			cut := s.mount.UnderWay()
			s.log.Warn("the time of --drain is over", "under way", len(cut))
			s.name("cut off", cut)
			waits = false
		case err := <-ended:
			return err
		case sig := <-s.signals:
			if !s.hungUp(sig) && time.Since(told) > sameWish {
				return errors.Join(s.mount.Unmount(true), s.endedBy(sig))
			}
		}
	}
	return s.leave(ended)
}

func (s *serving) sayWaiting(until time.Time) {
	waited := s.mount.UnderWay()
	s.log.Info("draining: nothing new begins", "until", until.Format(time.TimeOnly), "under way", len(waited))
	s.name("waiting for", waited)
	s.told.tell("STOPPING=1", fmt.Sprintf("STATUS=draining, %d under way", len(waited)),
		fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (s.drain+10*time.Second).Microseconds()))
}

// name logs what is under way, a line each.
func (s *serving) name(what string, underWay []string) {
	for _, w := range underWay[:min(len(underWay), mostNamed)] {
		s.log.Info(what, "who", w)
	}
}

// leave unmounts, and ends even if somebody stays.
func (s *serving) leave(ended <-chan error) error {
	if err := s.mount.Unmount(false); err != nil {
		s.log.Info("the mount is taken away from who still uses it", "error", err)
		if err := s.mount.Unmount(true); err != nil {
			return err
		}
	}
	defer s.log.Info("unmounted")
	select {
	case err := <-ended:
		return err
	case <-time.After(answerTime):
	case <-s.signals:
	}
	s.mount.Halt()
	return nil
}
