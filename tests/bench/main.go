package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The sub-commands this program starts itself with.
const (
	commandWorker   = "worker"
	commandOnce     = "once"
	commandLoopback = "loopback"
)

// hidden returns the sub-command of that name, or nil.
func hidden(name string) func(args []string) error {
	switch name {
	case commandWorker:
		return work
	case commandOnce:
		return once
	case commandLoopback:
		return serveLoopback
	default:
		return nil
	}
}

// options of the command line.
type options struct {
	bin     string // the airlockfs binary
	out     string // the JSON file
	scratch string // a folder on a tmpfs
	quick   bool
	only    string // the one phase to measure; "": all
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.bin, "bin", "bin/airlockfs", "the airlockfs `binary` to measure")
	flags.StringVar(&o.out, "out", "bin/bench.json", "the `file` for the figures")
	flags.StringVar(&o.scratch, "scratch", "/dev/shm", "a `folder` on a tmpfs for the backings")
	flags.BoolVar(&o.quick, "quick", os.Getenv("QUICK") == "1", "smaller amounts, done within 50 s (also QUICK=1)")
	flags.StringVar(&o.only, "only", "", "measure this `phase` alone: "+strings.Join(phaseNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.only != "" && !slices.Contains(phaseNames(), o.only) {
		return o, fmt.Errorf("no phase %q: there are %s", o.only, strings.Join(phaseNames(), ", "))
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) > 0 {
		if command := hidden(args[0]); command != nil {
			return command(args[1:])
		}
	}
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return measureAll(o)
}

// measureAll runs the bench. What it could not measure is its error; the
// figures it has are reported all the same.
func measureAll(o options) error {
	if _, err := exec.LookPath("bindfs"); err != nil {
		return errors.New("bindfs is missing: apt-get install bindfs")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	p := fullPlan()
	if o.quick {
		p = quickPlan()
	}
	b := &bench{plan: p, self: self, only: o.only, configs: configurations(self, bin), results: newResults()}
	if err := b.runIn(o.scratch); err != nil {
		return err
	}
	return b.report(o.out)
}

// runIn measures in a scratch folder below base and removes that. A signal
// that asks to end, or the end of the plan's time, ends only the measuring.
func (b *bench) runIn(base string) (err error) {
	// Without a receiver a closed standard error would end this program by
	// SIGPIPE, before it cleans up.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	ctx, cancel := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer cancel()
	ctx, cancelTotal := context.WithTimeoutCause(ctx, b.plan.total,
		fmt.Errorf("the time of the whole run, %v, was over", b.plan.total))
	defer cancelTotal()

	if b.scratch, err = newScratch(base); err != nil {
		return err
	}
	defer b.removeScratch()
	b.run(ctx)
	return nil
}

func (b *bench) removeScratch() {
	if err := removeScratch(b.scratch); err != nil {
		b.results.fail("cleaning up", b.scratch, err)
	}
}

func (b *bench) report(out string) error {
	r := newReport(b.rows(), b.results)
	if err := r.write(out); err != nil {
		return err
	}
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	slog.Info("written", "file", out)
	if len(r.Failures) > 0 {
		return errors.New("not everything could be measured, see above")
	}
	return nil
}
