package fusefs

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/checkup"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// site is all of a mount but the kernel: a backing, a desk, and programs that make calls. It can be ended, or crash, and
// begin again on the same backing. before is asked of each call on the disk.
type site struct {
	t      *testing.T
	dir    string
	config Config
	rules  *protocol.Rules
	before atomic.Pointer[func(backing.Call) error]

	fs       *FS
	watched  chan struct{} // closed when nobody settles the ends of programs any more
	programs []*program
	named    map[string]*program
}

func newSite(t *testing.T, c Config, rules ...string) *site {
	dir, err := os.MkdirTemp("/dev/shm", "airlockfs-site-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	var list []protocol.Rule
	for _, text := range rules {
		r, err := protocol.ParseRule(text)
		require.NoError(t, err)
		list = append(list, r)
	}
	s := &site{t: t, dir: dir, config: c, named: map[string]*program{}}
	s.rules, err = protocol.NewRules(list, protocol.DefaultNames())
	require.NoError(t, err)
	return s
}

// program is the one of this name, started when it is first asked for.
func (s *site) program(name string) *program {
	if s.named[name] == nil {
		s.named[name] = &program{site: s, process: startProcess(s.t)}
		s.programs = append(s.programs, s.named[name])
	}
	return s.named[name]
}

func (s *site) desk() *desk { return s.fs.desk }

// begin is a mount; it fails as that does.
func (s *site) begin() error {
	store, err := backing.Open(s.dir, backing.Options{Areas: protocol.Areas(), Before: func(c backing.Call) error {
		if before := s.before.Load(); before != nil {
			return (*before)(c)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	callers, err := caller.New(caller.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	c := s.config
	c.Store, c.Callers, c.Rules, c.Log, c.Now = store, callers, s.rules, slog.New(slog.DiscardHandler), time.Now
	d := newDesk(c)
	s.fs, s.watched = newFS(d), make(chan struct{})
	err = store.Acquire()
	d.mu.Lock()
	d.addControlsLocked(map[string]virtual{})
	if err == nil {
		err = d.prepareLocked()
	}
	if err == nil {
		_ = d.slots.spare(spareSlots)
	}
	d.mu.Unlock()
	go func(done chan struct{}) { defer close(done); d.watch() }(s.watched)
	if err != nil {
		s.crash()
	}
	return err
}

// end is an unmount.
func (s *site) end() {
	s.desk().stop()
	s.crash()
}

// crash is the daemon's death. The programs live on, without what they had open.
func (s *site) crash() {
	d := s.desk()
	d.mu.Lock()
	d.stopped = true
	for _, h := range d.handles {
		h.close()
	}
	for _, t := range d.timers {
		t.Stop()
	}
	d.mu.Unlock()
	d.Callers.Close()
	<-s.watched
	require.NoError(s.t, d.Store.Close())
	for _, p := range s.programs {
		p.files = nil
	}
}

// must is for what is not under test.
func (s *site) must(st ...fuse.Status) {
	s.t.Helper()
	for _, st := range st {
		require.Equal(s.t, fuse.OK, st)
	}
}

// we make calls that are not under test, without a process of our own.
func (s *site) we() *program { return &program{site: s, process: ourselves()} }

// put makes a file public.
func (s *site) put(path, text string) {
	s.t.Helper()
	s.must(s.we().put(path, text))
}

// put writes a file, whole.
func (p *program) put(path, text string) fuse.Status {
	f, st := p.open(path, writeNew)
	if st != fuse.OK {
		return st
	}
	if st = f.write(text); st != fuse.OK {
		f.close()
		return st
	}
	return f.close()
}

// rest ends all programs and waits until what they had is settled.
func (s *site) rest() {
	s.t.Helper()
	for _, p := range s.programs {
		p.kill()
	}
	s.programs, s.named = nil, map[string]*program{}
	end := time.Now().Add(10 * time.Second)
	for !s.settled() {
		if time.Now().After(end) {
			s.t.Fatalf("it is never settled: %v\n%+v", s.disk(), s.desk().statusFor(0))
		}
		s.lookAtAll()
		<-time.After(time.Millisecond)
	}
}

// ends kills a program and has everybody look until what it had is settled, for a short while: a disk that fails all the
// time settles nothing.
func (s *site) ends(program string) fuse.Status {
	s.program(program).kill()
	delete(s.named, program)
	for range 20 {
		<-time.After(time.Millisecond)
		if s.lookAtAll(); s.settled() {
			break
		}
	}
	return fuse.OK
}

// lookAtAll looks for every name that the desk knows of.
func (s *site) lookAtAll() {
	d := s.desk()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.table.byID {
		if n.kind == itemNode {
			_, _ = d.fileOfLocked(&n.bytes.item)
		}
		if n.kind == folderNode {
			d.settleMarksLocked(n)
		}
	}
	d.sweepLocked()
}

// settled: nothing belongs to a program that has ended, and nothing is put off.
func (s *site) settled() bool {
	d := s.desk()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.table.byID {
		if n.kind != itemNode {
			continue
		}
		i := &n.bytes.item
		unowned := i.State == protocol.Staged || i.State == protocol.Claimed
		if n.bytes.unsettled != nil || unowned && (i.Owner == 0 || d.Callers.Ended(i.Owner)) {
			return false
		}
	}
	for owner, e := range d.owned {
		if len(e.marks) > 0 && d.Callers.Ended(owner) {
			return false
		}
	}
	return len(d.ending) == 0 && len(d.chores.left) == 0
}

// disk is what is on the disk: a line "STATE PATH=BYTES" for each file, sorted.
func (s *site) disk() []string {
	var all []string
	err := filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == s.dir {
			return err
		}
		rel, _ := filepath.Rel(s.dir, path)
		line := "public " + rel
		if parts := strings.Split(rel, "/"); parts[0] == backing.Control {
			if len(parts) < 4 {
				return nil
			}
			place := strings.Split(parts[2], "~")
			key := place[0]
			if parts[1] == "replaced" {
				key = place[1]
			}
			line = parts[1] + " " + filepath.Join(s.folderOf(key), parts[3])
		}
		switch b, err := os.ReadFile(path); {
		case e.IsDir():
			line += "/"
		case e.Type()&os.ModeSymlink != 0:
			line += "@"
		case err != nil:
			return err
		default:
			line += "=" + string(b)
		}
		all = append(all, line)
		return nil
	})
	require.NoError(s.t, err)
	slices.Sort(all)
	return all
}

// folderOf is the folder that has a key.
func (s *site) folderOf(key string) string {
	path, err := os.Readlink(filepath.Join(s.dir, foldersArea, key))
	if err != nil && key != "0" {
		return "?" + key
	}
	return path
}

// openFiles are the files of the backing that this process has open.
func (s *site) openFiles() []string {
	var all []string
	names, err := os.ReadDir("/proc/self/fd")
	require.NoError(s.t, err)
	for _, name := range names {
		path, err := os.Readlink("/proc/self/fd/" + name.Name())
		if st, errStat := os.Stat("/proc/self/fd/" + name.Name()); err == nil && errStat == nil && st.Mode().IsRegular() && strings.HasPrefix(path, s.dir) {
			all = append(all, path)
		}
	}
	return all
}

// check are the problems that `airlockfs check` finds.
func (s *site) check() []report.Finding {
	store, err := backing.Open(s.dir, backing.Options{Areas: protocol.Areas()})
	require.NoError(s.t, err)
	defer store.Close()
	findings, err := checkup.Run(store, checkup.Facts{
		Served: func(backing.ID) bool { return false },
		Here:   func(protocol.Process) bool { return true },
		Alive:  func(protocol.Process) bool { return true },
	})
	require.NoError(s.t, err)
	return slices.DeleteFunc(findings, func(f report.Finding) bool { return !f.Problem })
}

// emptyPlaces are the folders in the areas that nothing lies in.
func (s *site) emptyPlaces() []string {
	places, err := filepath.Glob(filepath.Join(s.dir, backing.Control, "*", "*"))
	require.NoError(s.t, err)
	return slices.DeleteFunc(places, func(place string) bool {
		names, err := os.ReadDir(place)
		return err != nil || len(names) > 0 || filepath.Dir(place) == filepath.Join(s.dir, tokensArea)
	})
}
