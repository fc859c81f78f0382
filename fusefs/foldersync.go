package fusefs

import (
	"sync"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// folderSyncs makes the names in folders durable. One sync of a folder counts for all who asked for it before it began;
// while it runs, the next ones to ask wait for one more together. So a folder has at most two, however many ask.
// Its methods may be called from any goroutine, also under desk.mu.
type folderSyncs struct {
	ended   func(*folderSync) // called when one has run, before anybody learns of it
	running sync.WaitGroup

	mu   sync.Mutex
	last map[backing.ID]*folderSync // the one that does not run yet, else the one that runs
}

// syncer is an open folder.
type syncer interface {
	Sync() error
	Close()
}

// folderSync is one fsync(2) of a folder.
type folderSync struct {
	folder syncer
	path   string // when it was asked for
	node   *node  // of the mount; nil: a place below the control folder
	after  *folderSync
	begun  bool // GUARDED_BY(folderSyncs.mu)
	done   chan struct{}
	err    error // set before done is closed

	names []protocol.NameKey // that appear with it; GUARDED_BY(desk.mu)
}

// ask gives the sync that counts for what was done in the folder until now. It takes over the open folder.
func (s *folderSyncs) ask(folder syncer, id backing.ID, path string) *folderSync {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[id]
	if last != nil && !last.begun {
		folder.Close()
		return last
	}
	next := &folderSync{folder: folder, path: path, after: last, done: make(chan struct{})}
	s.last[id] = next
	s.running.Go(func() { s.run(id, next) })
	return next
}

func (s *folderSyncs) run(id backing.ID, x *folderSync) {
	if x.after != nil {
		<-x.after.done
		x.after = nil
	}
	s.mu.Lock()
	x.begun = true
	s.mu.Unlock()
	x.err = x.folder.Sync()
	x.folder.Close()
	s.mu.Lock()
	if s.last[id] == x {
		delete(s.last, id)
	}
	s.mu.Unlock()
	s.ended(x)
	close(x.done)
}

// over tells whether it has run.
func (x *folderSync) over() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// failedSync is a sync that need not be tried.
func failedSync(path string, err error) *folderSync {
	x := &folderSync{path: path, begun: true, done: make(chan struct{}), err: err}
	close(x.done)
	return x
}
