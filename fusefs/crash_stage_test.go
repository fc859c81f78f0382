package fusefs

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// stage is where the scenes of crashes are played: a desk on a folder whose every change is recorded. What programs do
// is done in this process, in the name of processes that do nothing.
type stage struct {
	*recording
	callers *caller.Table
	config  Config
	desk    *desk
	store   *backing.Store
	actors  map[string]int // pids
	pass    func(time.Duration)
	judged  map[string]judged
}

const keepReplaced = time.Hour

func newStage(t *testing.T, actors map[string]int, sc *scene) *stage {
	callers, err := caller.New(caller.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(callers.Close)
	var list []protocol.Rule
	for _, text := range sc.rules {
		r, err := protocol.ParseRule(text)
		require.NoError(t, err)
		list = append(list, r)
	}
	rules, err := protocol.NewRules(list, protocol.DefaultNames())
	require.NoError(t, err)
	now := time.Now() // of the scene: it stands until the scene says that time has passed
	s := &stage{judged: map[string]judged{}, callers: callers, actors: actors, recording: &recording{t: t, dir: inMemory(t)}}
	s.config = Config{Callers: callers, Rules: rules, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		Sync: sc.sync, KeepReplaced: keepReplaced, Abandoned: 24 * time.Hour, Quarantine: sc.bounds}
	s.pass = func(d time.Duration) { now = now.Add(d) }
	return s
}

// inMemory is an empty folder in memory: thousands of images are laid out, and what is synced is known without a disk.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "crash")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// startActors starts processes without kin: each in a session of its own.
func startActors(t *testing.T, names ...string) map[string]int {
	pids := map[string]int{}
	for _, name := range names {
		c := exec.Command("sleep", "600")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
		require.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		pids[name] = c.Process.Pid
	}
	return pids
}

// mount is what a mount does before its first request: it takes the folder over from the last one. No
// clock acts by itself: what one does is an act of its own.
func (s *stage) mount(dir string, trace func(string)) {
	store, err := backing.Open(dir, backing.Options{Areas: protocol.Areas(), Trace: trace})
	require.NoError(s.t, err)
	require.NoError(s.t, store.Acquire())
	for _, area := range []string{foldersArea, replacedArea, tokensArea, marksArea} {
		require.NoError(s.t, store.MakePrivate(area))
	}
	s.store, s.config.Store = store, store
	s.desk = newDesk(s.config)
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.stopped = true
	require.NoError(s.t, s.desk.recoverLocked())
	require.NoError(s.t, s.desk.setTokensAsideLocked())
}

// restart is a daemon's end and the next mount.
func (s *stage) restart() {
	s.leave()
	s.mount(s.dir, s.trace)
}

// leave lets go of a desk as its process's end does: nothing is put in order.
func (s *stage) leave() {
	s.desk.mu.Lock()
	for _, t := range s.desk.timers {
		t.Stop()
	}
	s.desk.quarantine.stop()
	for _, h := range s.desk.handles {
		h.close()
	}
	s.desk.mu.Unlock()
	require.NoError(s.t, s.store.Close())
}

// who is an actor as the desk knows it.
func (s *stage) who(name string) (*protocol.Party, uint32) {
	pid := uint32(s.actors[name])
	require.NotZero(s.t, pid, name)
	return s.callers.Opener(pid, 0, 0), pid
}

// split is the node of a path's folder, and the name in it.
func (s *stage) split(path string) (uint64, string) {
	folder, name, _ := cutLast(path)
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	n, err := s.desk.walkLocked(folder)
	require.NoError(s.t, err, path)
	return n.id, name
}

// create is open(2) with O_CREAT of a free name.
func (s *stage) create(actor, path string) *handle { return s.createBy(actor, path, unix.O_TRUNC) }

// createNew is open(2) with O_CREAT and O_EXCL.
func (s *stage) createNew(actor, path string) *handle { return s.createBy(actor, path, unix.O_EXCL) }

func (s *stage) createBy(actor, path string, flag uint32) *handle {
	p, tid := s.who(actor)
	parent, name := s.split(path)
	c := s.desk.call(protocol.OpCreate, p)
	c.mode = 0o644
	h, err := s.desk.create(p, tid, parent, name, unix.O_RDWR|unix.O_CREAT|flag, c)
	require.NoError(s.t, err, path)
	return h
}

// createToLock is what flock(1) does: it opens a name to lock it, and gets the lock.
func (s *stage) createToLock(actor, path string) *handle {
	p, tid := s.who(actor)
	parent, name := s.split(path)
	c := s.desk.call(protocol.OpCreate, p)
	c.mode = 0o644
	h, err := s.desk.create(p, tid, parent, name, unix.O_RDONLY|unix.O_CREAT, c)
	require.NoError(s.t, err, path)
	return h
}

// failing writes a file and exits with a failure.
func (s *stage) failing(path string) {
	h := s.create("producer", path)
	s.write(h, "part")
	s.closeAs(h, failed)
}

// open is open(2) of a name that is there. The kernel looks again after ESTALE, once.
func (s *stage) open(actor, path string, flags uint32) *handle {
	h, err := s.tryOpen(actor, path, flags)
	if errors.Is(err, syscall.ESTALE) {
		h, err = s.tryOpen(actor, path, flags)
	}
	require.NoError(s.t, err, path)
	return h
}

func (s *stage) tryOpen(actor, path string, flags uint32) (*handle, error) {
	p, tid := s.who(actor)
	return s.desk.open(p, tid, s.look(actor, path), flags)
}

// look is stat(2).
func (s *stage) look(actor, path string) uint64 {
	p, tid := s.who(actor)
	parent, name := s.split(path)
	f, err := s.desk.lookup(p, tid, parent, name)
	require.NoError(s.t, err, path)
	return f.node.id
}

// write writes at the end.
func (s *stage) write(h *handle, text string) {
	st, err := h.stat()
	require.NoError(s.t, err)
	_, err = s.desk.write(h, h.party, []byte(text), st.Size, false)
	require.NoError(s.t, err)
	s.trace("write " + text)
}

// close is close(2) of the last descriptor.
func (s *stage) close(h *handle) { s.closeAs(h, protocol.Verdict{}) }

// closeAs is the close of a process that exits.
func (s *stage) closeAs(h *handle, v protocol.Verdict) {
	_ = s.desk.flush(h, h.party, v, 0) // a close may fail: the outcome tells
	s.desk.release(h)
	s.desk.syncs.running.Wait() // as whoever looks does
}

// put writes a file under a free name, whole.
func (s *stage) put(actor, path, text string) {
	h := s.create(actor, path)
	s.write(h, text)
	s.close(h)
}

// replace is what `>` does to a name that is there.
func (s *stage) replace(actor, path, text string) {
	h := s.open(actor, path, unix.O_WRONLY|unix.O_TRUNC)
	s.write(h, text)
	s.close(h)
}

// claim reads a file, and is not done with it.
func (s *stage) claim(actor, path string) { s.close(s.open(actor, path, unix.O_RDONLY)) }

func (s *stage) rename(actor, from, to string, flags uint32) {
	p, _ := s.who(actor)
	src, a := s.split(from)
	dst, b := s.split(to)
	require.NoError(s.t, s.desk.saveFirst(0, func() error {
		return s.desk.rename(p, backing.Object{Name: a}, backing.Object{Name: b}, src, dst, flags)
	}), from)
}

func (s *stage) unlink(actor, path string) {
	p, _ := s.who(actor)
	parent, name := s.split(path)
	require.NoError(s.t, s.desk.unlink(p, parent, name), path)
}

func (s *stage) link(actor, from, to string) {
	p, _ := s.who(actor)
	parent, name := s.split(to)
	require.NoError(s.t, s.desk.saveFirst(0, func() error {
		_, err := s.desk.link(p, s.look(actor, from), parent, name)
		return err
	}), from)
}

func (s *stage) truncate(actor, path string, size int64) {
	p, tid := s.who(actor)
	parent, name := s.split(path)
	f, err := s.desk.lookup(p, tid, parent, name)
	require.NoError(s.t, err)
	if err = s.desk.setSize(p, tid, f.node.id, 0, size); !errors.Is(err, syscall.ESTALE) {
		require.NoError(s.t, err, path)
	}
}

func (s *stage) mkdir(actor, path string) {
	p, _ := s.who(actor)
	parent, name := s.split(path)
	_, err := s.desk.make(p, parent, name, func(at backing.Object) error { return s.store.Mkdir(at, 0o755, 0, 0) })
	require.NoError(s.t, err, path)
}

func (s *stage) rmdir(actor, path string) {
	p, _ := s.who(actor)
	parent, name := s.split(path)
	require.NoError(s.t, s.desk.rmdir(p, parent, name), path)
}

// end is a process's end, as the news of it comes.
func (s *stage) end(actor string, v protocol.Verdict, heir string) {
	p, _ := s.who(actor)
	end := protocol.End{Party: p.ID, Verdict: v}
	if heir != "" {
		end.Heir, _ = s.who(heir)
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.endedLocked(end)
}

// order is an operator's.
func (s *stage) order(do, path, as string) {
	p, _ := s.who("operator")
	out := s.desk.order(p, &report.Order{Do: do, Path: path, As: as})
	require.True(s.t, out.Done, out.Refused)
}

// lapse lets the time of an item's clock come.
func (s *stage) lapse(path string, op protocol.Op) {
	folder, name := s.split(path)
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	private := d.knownLocked(d.table.byID[folder], name).Private
	require.NotEmpty(s.t, private, path)
	require.NoError(s.t, d.aboutItemLocked(d.table.byID[uint64(private[0].ID)], d.call(op, nil)))
}

// bound lets the clock of the quarantine come.
func (s *stage) bound() {
	s.desk.stopped = false
	s.desk.boundQuarantine()
	s.desk.stopped = true
}

// masked is a line of the trace without what differs from run to run.
func (s *stage) masked(line string) string {
	line = untilPattern.ReplaceAllString(line, "replaced/UNTIL~")
	line = draftPattern.ReplaceAllString(line, "$1.INODE.new")
	line = strings.ReplaceAll(line, backing.Control+"/", "@")
	line = s.maskedRecord(line)
	line = tokenPattern.ReplaceAllString(line, "@tokens/N")
	return placePattern.ReplaceAllStringFunc(line, func(place string) string {
		f := placePattern.FindStringSubmatch(place)
		return f[1] + s.actorOf(f[2])
	})
}
