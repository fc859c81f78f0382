package fusefs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/protocol"
)

// Observer is a configured observer; one given by its program file is recognised by the file's device and inode.
type Observer struct {
	protocol.ObserverSpec
	dev, ino uint64
}

// NewObserver looks the program file up, if there is one.
func NewObserver(s protocol.ObserverSpec) (Observer, error) {
	o := Observer{ObserverSpec: s}
	if s.By != protocol.ObserverByExe {
		return o, nil
	}
	info, err := os.Stat(s.Exe)
	if err != nil {
		return o, fmt.Errorf("observer %q: the program file can't be found: %w", s, errors.Unwrap(err))
	}
	st := info.Sys().(*syscall.Stat_t)
	o.dev, o.ino = st.Dev, st.Ino
	return o, nil
}

// Is tells whether a party is meant.
func (o *Observer) Is(p *protocol.Party, callers *caller.Table) bool {
	if o.By == protocol.ObserverByExe {
		dev, ino, ok := callers.Exe(p.ID)
		return ok && dev == o.dev && ino == o.ino
	}
	return o.MatchesUID(p.Process.UID) || o.MatchesName(p.Program)
}
