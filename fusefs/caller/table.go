package caller

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// Options of a Table. The zero value is usable.
type Options struct {
	Log   *slog.Logger // nil: no log
	Limit int          // most cached parties that nobody holds, and most cached threads; 0: 2000
}

const defaultLimit = 2000

// Table knows the parties. It is safe for concurrent use. Each living party costs two descriptors, each cached thread
// one more.
type Table struct {
	log    *slog.Logger
	limit  int
	here   machine
	unique bool // pidfds have inode numbers of their own
	blind  bool // /proc is of another pid namespace: what it says of a pid is about somebody else
	epoll  int
	wake   int // eventfd: something is to be told, or the table closes
	ends   chan protocol.End
	done   chan struct{} // closed by Close
	idle   chan struct{} // closed when the goroutine has returned

	mu sync.Mutex
	// All below: GUARDED_BY(mu)

	lastID  protocol.PartyID
	byID    map[protocol.PartyID]*entry
	byPID   map[int]*entry    // processes that have not been found ended
	unseen  map[uint32]*entry // by user id
	threads map[uint32]*thread
	workers bool       // one was registered
	warned  bool       // of callers that can't be seen
	pinned  int        // entries that must stay
	recent  *list.List // of *entry that may go, the most recently used first
	used    *list.List // of *thread, likewise
	news    []protocol.End
}

// New makes a table and starts the goroutine that waits for ends; Close stops it.
func New(o Options) (*Table, error) {
	t := &Table{
		log: o.Log, limit: o.Limit,
		ends: make(chan protocol.End), done: make(chan struct{}), idle: make(chan struct{}),
		byID: map[protocol.PartyID]*entry{}, byPID: map[int]*entry{},
		unseen: map[uint32]*entry{}, threads: map[uint32]*thread{},
		recent: list.New(), used: list.New(),
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.limit <= 0 {
		t.limit = defaultLimit
	}
	if err := t.open(); err != nil {
		return nil, fmt.Errorf("caller: %w", err)
	}
	go t.watchEnds()
	return t, nil
}

func (t *Table) open() (err error) {
	if t.here, err = thisMachine(); err != nil {
		return err
	}
	t.blind = !ownProc()
	if t.unique, err = uniquePidfds(); err != nil {
		return fmt.Errorf("pidfd: %w", err)
	}
	if t.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if t.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = t.listen(t.wake, 0, unix.EPOLLIN)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("eventfd: %w", err), unix.Close(t.epoll))
	}
	return nil
}

// Close stops the goroutine, closes the channel Ends and drops every descriptor. No other call may follow, or run.
func (t *Table) Close() {
	close(t.done)
	t.kick()
	<-t.idle
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.byID {
		t.dropLocked(e)
	}
	_ = unix.Close(t.wake)
	_ = unix.Close(t.epoll)
}

// Party returns the newest view of a party, nil if it is forgotten.
func (t *Table) Party(id protocol.PartyID) *protocol.Party {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byID[id]; e != nil {
		return e.party
	}
	return nil
}

// Exe returns device and inode of the program that the party ran when it last opened something. ok is false if it is
// forgotten or has never been an Opener.
func (t *Table) Exe(id protocol.PartyID) (dev, ino uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil || e.known.exe == (file{}) {
		return 0, 0, false
	}
	return e.known.exe.dev, e.known.exe.ino, true
}

// Groups returns the supplementary groups of a thread, nil if it is gone.
func (t *Table) Groups(tid uint32) []uint32 {
	st, err := readStatus(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return nil
	}
	return st.groups
}

// Stopped tells whether a party's process is stopped, by a signal or a debugger.
func (t *Table) Stopped(p *protocol.Party) bool {
	st, err := readStatus(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/status", p.Process.PID))
	return err == nil && (st.state == 'T' || st.state == 't')
}

func (t *Table) entry(id protocol.PartyID) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}
