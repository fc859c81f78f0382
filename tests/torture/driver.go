package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/tests/torture/actor"
	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// driver lets a run happen: it hires, kills, restarts and fills, by the seed's choices and the clock.
type driver struct {
	options
	stage   *stage
	daemon  *daemon // nil on a bare folder
	crew    *crew
	journal *journal.Journal
	rand    *rand.Rand
	vitals  vitals
	count   map[string]int // what was done to actors, daemon and disk

	faulty                         bool          // the daemon's disk fails
	fullUntil                      chan struct{} // closed when the disk has room again; nil: it was never full
	backlog                        int
	nextHire, nextAttack, nextLook time.Time
	nextDown, nextFull             time.Time
	calm                           time.Time // from then on the daemon stays
}

// tick is how often the driver looks, and how often it hires at most.
const tick = 50 * time.Millisecond

func newDriver(o options, s *stage, j *journal.Journal) (*driver, error) {
	d := &driver{options: o, stage: s, journal: j, rand: rand.New(rand.NewPCG(o.seed, 0)), count: map[string]int{}}
	var err error
	bin := ""
	if o.on == onAirlockfs {
		bin = o.bin
	}
	if d.crew, err = newCrew(s, bin, j); err != nil || o.on == onBare {
		return d, err
	}
	d.daemon, err = newDaemon(s, o)
	return d, err
}

// run is over after its time, or at the first thing that can't go on.
func (d *driver) run(ctx context.Context) error {
	start := time.Now()
	d.calm = start.Add(d.time - min(d.time/5, 3*time.Minute))
	d.nextDown, d.nextFull, d.nextAttack = d.in(start, 3*time.Second), d.in(start, 6*time.Second), d.in(start, time.Second)
	if err := d.up(""); err != nil {
		return err
	}
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for now := range clock.C {
		if now.After(start.Add(d.time)) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := d.step(now); err != nil {
			return err
		}
	}
	return nil
}

// in is a moment, half to one and a half such times later.
func (d *driver) in(now time.Time, about time.Duration) time.Time {
	return now.Add(about/2 + time.Duration(d.rand.Int64N(int64(about))))
}

func (d *driver) step(now time.Time) error {
	if now.After(d.nextHire) && d.crew.size() < d.actors {
		d.nextHire = now.Add(2 * tick)
		if err := d.crew.hire(d.choose(), d.rand); err != nil {
			return err
		}
	}
	if now.After(d.nextAttack) {
		d.nextAttack = d.in(now, 500*time.Millisecond)
		if m := d.crew.some(d.rand); m != nil {
			how := attacks[d.rand.IntN(len(attacks))]
			d.count[how]++
			d.crew.attack(m, how)
		}
	}
	if now.After(d.nextLook) {
		d.nextLook = now.Add(time.Second)
		d.backlog = countFiles(filepath.Join(d.stage.backing, "q"))
		d.vitals.look(d.daemon)
	}
	if d.daemon == nil || d.on != onAirlockfs {
		return nil
	}
	if now.After(d.nextFull) {
		d.nextFull = d.in(now, 12*time.Second)
		return d.full()
	}
	switch calm := now.After(d.calm); {
	case calm && d.faulty:
		return d.restart("")
	case !calm && now.After(d.nextDown):
		d.nextDown = d.in(now, 3*time.Second)
		return d.restart(d.chooseFaults())
	}
	return nil
}

// full takes all room away for a moment.
func (d *driver) full() error {
	d.journal.Say("fault", "full")
	undo, err := d.stage.fill()
	if err != nil {
		return err
	}
	d.count["disk full"]++
	over := make(chan struct{})
	d.fullUntil = over
	time.AfterFunc(time.Duration(d.rand.Int64N(int64(600*time.Millisecond))), func() {
		undo()
		d.journal.Say("fault", "over")
		close(over)
	})
	return nil
}

func (d *driver) restart(faults string) error {
	how := downs[d.rand.IntN(len(downs))]
	d.count["daemon "+how]++
	d.journal.Say("down", how)
	if err := d.daemon.stop(how); err != nil {
		return err
	}
	return d.up(faults)
}

// up starts a daemon. One whose disk fails may refuse to mount, and is followed by another.
func (d *driver) up(faults string) error {
	if d.daemon == nil {
		return nil
	}
	d.faulty = faults != ""
	err := d.daemon.start(faults)
	if err != nil && d.faulty {
		d.count["mount refused by the disk"]++
		if err = d.daemon.stop("kill"); err == nil {
			return d.up("")
		}
	}
	if err != nil {
		return fmt.Errorf("%w; it said: %s", err, tail(filepath.Join(d.stage.side, "daemon.txt")))
	}
	d.journal.Say("up", strings.Fields(faults)...)
	d.vitals.begin()
	return nil
}

// Between these numbers of files anybody is hired, else makers or takers only.
const (
	fewFiles  = 10
	manyFiles = 80
)

// choose chooses the next actor's kind: first one of each, and a second taker, so that a short run has them all.
func (d *driver) choose() string {
	switch n := d.crew.serial; {
	case n < len(actor.Kinds):
		return actor.Kinds[n].Name
	case n == len(actor.Kinds):
		return "taker"
	}
	total := 0
	for _, k := range actor.Kinds {
		total += d.weight(k.Weight, k.Role)
	}
	n := d.rand.IntN(total)
	for _, k := range actor.Kinds {
		if n -= d.weight(k.Weight, k.Role); n < 0 {
			return k.Name
		}
	}
	return ""
}

func (d *driver) weight(weight int, role string) int {
	if role == "takes" && d.backlog < fewFiles || role == "makes" && d.backlog > manyFiles {
		return 0
	}
	return weight
}

// countFiles counts what waits to be taken.
func countFiles(q string) int {
	n := 0
	for _, folder := range folders {
		if files, err := os.ReadDir(filepath.Join(q, folder)); err == nil && folder != "done" {
			n += len(files)
		}
	}
	return n
}
