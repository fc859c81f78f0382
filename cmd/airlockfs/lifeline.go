package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// scratchVariable names the scratch folder of a daemon that must not outlive who started it: of airlockfs try. Such a
// daemon has the reading end of a pipe as lifelineFD, whose other end only its starter has.
const scratchVariable = "AIRLOCKFS_SCRATCH"

const lifelineFD = 4

// lifeline is the daemon's end.
type lifeline struct {
	folder string
	cut    chan struct{} // closed when the starter is gone, however it ended
}

// inheritedLifeline is nil in a process that may live as long as it likes.
func inheritedLifeline() *lifeline {
	folder := os.Getenv(scratchVariable)
	if folder == "" {
		return nil
	}
	os.Unsetenv(scratchVariable)
	unix.CloseOnExec(lifelineFD)
	l := &lifeline{folder: folder, cut: make(chan struct{})}
	pipe := os.NewFile(lifelineFD, "lifeline")
	go func() {
		_, _ = pipe.Read(make([]byte, 1)) // nobody writes: it returns at the end of the starter
		close(l.cut)
	}()
	return l
}

// orphan is nil, which is never ready, without a lifeline.
func (l *lifeline) orphan() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.cut
}

// removeIfCut removes the scratch folder, which nobody else is left to do.
func (l *lifeline) removeIfCut() error {
	if l == nil {
		return nil
	}
	select {
	case <-l.cut:
		return removeScratch(l.folder)
	default:
		return nil
	}
}
