package main

import (
	"log/slog"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs"
)

// sameWish is how long after a signal another one is taken for the same wish: timeout(1), shells and terminals send one
// to a process and to its group.
const sameWish = 500 * time.Millisecond

// serving is a mount until its end.
type serving struct {
	mount   *fusefs.Mounted
	signals <-chan os.Signal
	orphan  <-chan struct{} // closed when who started us is gone; nil: that does not matter
	drain   time.Duration   // how long what is under way may go on after SIGTERM; 0: it is not asked for
	told    supervisor
	log     *slog.Logger
	file    *logFile // nil: the log is no file
}

func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	return signals
}

// untilUnmounted waits for the end of the mount. A signal ends it: at once if nobody uses it, else it disappears and
// its last user is waited for, until another signal comes. With --drain SIGTERM first lets finish what is under way.
// SIGHUP ends nothing.
func (s *serving) untilUnmounted() error {
	ended := make(chan error, 1)
	go func() { ended <- s.mount.Wait() }()
	for {
		select {
		case err := <-ended:
			s.log.Info("the mount is gone: somebody unmounted it")
			return err
		case <-s.orphan:
			return s.unmount(ended)
		case sig := <-s.signals:
			if s.hungUp(sig) {
				continue
			}
			s.log.Info("unmounting", "signal", sig.String())
			if sig == unix.SIGTERM && s.drain > 0 {
				return s.unmountDrained(ended)
			}
			return s.unmount(ended)
		}
	}
}

// hungUp tells whether a signal is SIGHUP, and opens the log file anew if there is one: that is what logrotate(8) means by
// it. It never ends a mount, so who sends it need not know whether there is a file.
func (s *serving) hungUp(sig os.Signal) bool {
	if sig != unix.SIGHUP {
		return false
	}
	if s.file == nil {
		s.log.Info("SIGHUP: nothing to open anew: no --log")
	} else if err := s.file.reopen(); err != nil {
		s.log.Warn("the log file can't be opened anew: the log goes on in the old one", "error", err)
	}
	return true
}

func (s *serving) unmount(ended <-chan error) error {
	if err := s.mount.Unmount(false); err != nil {
		s.log.Warn("the mount is busy: it is taken away, and its last user waited for; another signal ends the wait", "error", err)
		if err := s.mount.Unmount(true); err != nil {
			return err
		}
	}
	told := time.Now()
	for {
		select {
		case err := <-ended:
			return err
		case sig := <-s.signals:
			if !s.hungUp(sig) && time.Since(told) > sameWish {
				return s.endedBy(sig)
			}
		}
	}
}

// endedBy is the end by a second signal.
func (s *serving) endedBy(sig os.Signal) error {
	s.mount.Halt()
	return failf(exitBusy, "ended by a second signal (%s) while files were open", sig)
}
