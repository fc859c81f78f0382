package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/actor"
	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// crew are the actors that live.
type crew struct {
	*stage
	bin     string
	journal *journal.Journal
	errors  *os.File
	serial  int
	count   map[string]int // started, by kind

	mu      sync.Mutex
	members map[string]*member // GUARDED_BY(mu)
}

// member is one of them.
type member struct {
	id    string
	kind  string
	cmd   *exec.Cmd
	idle  *os.File // its standard input, on which nothing comes
	alive *os.File // reads until all its processes have ended
	gone  chan struct{}
}

func newCrew(s *stage, bin string, j *journal.Journal) (*crew, error) {
	f, err := os.OpenFile(filepath.Join(s.side, "actors.txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &crew{stage: s, bin: bin, journal: j, errors: f, count: map[string]int{}, members: map[string]*member{}}, err
}

func (c *crew) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members)
}

// hire starts an actor.
func (c *crew) hire(kind string, r *rand.Rand) error {
	c.serial++
	m := &member{id: "a" + strconv.Itoa(c.serial), kind: kind, gone: make(chan struct{})}
	s := actor.Setting{ID: m.id, Kind: kind, Seed: r.Uint64(), Life: time.Second + time.Duration(r.Int64N(int64(5*time.Second))),
		Root: c.root, Side: c.side, Logs: c.logs, Self: c.self, Bin: c.bin}
	m.cmd = actor.Command(s, journal.Path(c.logs, m.id))
	stdin, idle, err := os.Pipe()
	if err != nil {
		return err
	}
	alive, lifeline, err := os.Pipe()
	if err != nil {
		return err
	}
	m.idle, m.alive = idle, alive
	m.cmd.Stdin, m.cmd.Stderr, m.cmd.Dir, m.cmd.ExtraFiles = stdin, c.errors, "/", []*os.File{lifeline}
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.journal.Say("start", m.id, kind)
	err = m.cmd.Start()
	_, _ = stdin.Close(), lifeline.Close()
	if err != nil {
		return err
	}
	c.count[kind]++
	c.mu.Lock()
	c.members[m.id] = m
	c.mu.Unlock()
	go c.await(m)
	return nil
}

// await writes down when all of an actor's processes have ended.
func (c *crew) await(m *member) {
	_ = m.cmd.Wait()
	_, _ = io.Copy(io.Discard, m.alive)
	c.journal.Say("dead", m.id)
	_, _ = m.alive.Close(), m.idle.Close()
	c.mu.Lock()
	delete(c.members, m.id)
	c.mu.Unlock()
	close(m.gone)
}

// some is a living actor, nil if there is none.
func (c *crew) some(r *rand.Rand) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := r.IntN(len(c.members) + 1)
	for _, m := range c.members {
		if n == 0 {
			return m
		}
		n--
	}
	return nil
}

// attacks are what is done to actors.
var attacks = []string{"kill-all", "kill-all", "kill-all", "kill-first", "kill-first", "term", "stop"}

// attack kills an actor, or stops it for a while.
func (c *crew) attack(m *member, how string) {
	c.journal.Say("kill", m.id, how)
	pid := m.cmd.Process.Pid
	switch how {
	case "kill-all":
		_ = unix.Kill(-pid, unix.SIGKILL)
	case "kill-first":
		_ = m.cmd.Process.Kill()
	case "term":
		_ = unix.Kill(-pid, unix.SIGTERM)
	case "stop":
		_ = unix.Kill(-pid, unix.SIGSTOP)
		time.AfterFunc(time.Second, func() { _ = unix.Kill(-pid, unix.SIGCONT) })
	}
}

// dismiss kills all, and waits until they have ended.
func (c *crew) dismiss() error {
	c.mu.Lock()
	var all []*member
	for _, m := range c.members {
		all = append(all, m)
	}
	c.mu.Unlock()
	for _, m := range all {
		c.journal.Say("kill", m.id, "dismissed")
		killSession(m.cmd.Process.Pid)
	}
	for _, m := range all {
		if !until(30*time.Second, func() bool { return closed(m.gone) }) {
			return fmt.Errorf("actor %s (%s) can't be killed", m.id, m.kind)
		}
	}
	return c.errors.Close()
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// killSession kills the processes of a session: timeout(1) makes a group of its own.
func killSession(sid int) {
	procs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range procs {
		b, err := os.ReadFile(file)
		_, rest, ok := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest) // state ppid pgrp session …
		if err != nil || !ok || len(fields) < 4 || fields[3] != strconv.Itoa(sid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
