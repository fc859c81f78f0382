package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/actor"
	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

// What the parcels are handed over on.
const (
	onAirlockfs = "airlockfs"
	onPlain     = "plain" // airlockfs that enforces nothing
	onBare      = "bare"  // a folder
)

type options struct {
	time    time.Duration
	seed    uint64
	bin     string
	failing string
	on      string
	scratch string
	keep    string
	actors  int
}

func parseOptions(args []string) (options, error) {
	var o options
	seconds := 0
	f := flag.NewFlagSet("torture", flag.ContinueOnError)
	f.IntVar(&seconds, "seconds", 60, "how long, in `SECONDS`")
	f.Uint64Var(&o.seed, "seed", 0, "what to choose by; 0: one that is printed")
	f.StringVar(&o.bin, "bin", "bin/airlockfs", "the `binary` to torture")
	f.StringVar(&o.failing, "failing", "", "a `binary` built with the tag failpoints: some daemons get a disk that fails")
	f.StringVar(&o.on, "on", onAirlockfs, "airlockfs; plain: one that enforces nothing; bare: a folder. The last two must fail")
	f.StringVar(&o.scratch, "scratch", "/dev/shm", "a `folder` for everything")
	f.StringVar(&o.keep, "keep", "", "copy the journals to a new `FOLDER`")
	f.IntVar(&o.actors, "actors", 14, "how many at once")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.on != onAirlockfs && o.on != onPlain && o.on != onBare {
		return o, fmt.Errorf("usage: torture [--seconds N] [--seed N] [--bin FILE] [--on airlockfs|plain|bare] [--scratch FOLDER] [--actors N]")
	}
	o.time = time.Duration(seconds) * time.Second
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	var err error
	if o.failing != "" {
		o.failing, err = filepath.Abs(o.failing)
	}
	bin, e := filepath.Abs(o.bin)
	o.bin = bin
	return o, errors.Join(err, e)
}

// again is the command that makes the same choices.
func (o options) again() string {
	return fmt.Sprintf("make torture SECONDS=%d SEED=%d", int(o.time.Seconds()), o.seed)
}

func main() {
	code, err := dispatch(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		code = 2
	}
	os.Exit(code)
}

// subcommands are what actors and scripts start this program for.
var subcommands = map[string]func(args []string) (int, error){
	"actor":  actAs,
	"writer": func(args []string) (int, error) { return actor.Writer(args), nil },
	"parcel": func(args []string) (int, error) { return 0, makeParcel(args[0], args[1]) },
	"judge":  func(args []string) (int, error) { return judge(args[0], os.Stdout) },
	"verify": func(args []string) (int, error) { return 0, verify(args[0]) },
}

func dispatch(args []string) (int, error) {
	if len(args) > 0 && subcommands[args[0]] != nil {
		return subcommands[args[0]](args[1:])
	}
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	}
	if err != nil {
		return 2, err
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // else a closed output would end this before it cleans up
	ctx, cancel := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer cancel()
	return torture(ctx, o, os.Stdout)
}

// makeParcel prints a parcel.
func makeParcel(name, bytes string) error {
	size, err := strconv.Atoi(bytes)
	if err == nil {
		_, err = os.Stdout.Write(parcel.Make(name, size))
	}
	return err
}

// verify prints "ok" and the names of a file's parcels, or "torn" and why.
func verify(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	names, err := parcel.Parse(b)
	if err != nil {
		fmt.Println("torn", err)
		return nil
	}
	fmt.Println("ok", strings.Join(names, " "))
	return nil
}

func actAs(args []string) (int, error) {
	var s actor.Setting
	f := flag.NewFlagSet("actor", flag.ContinueOnError)
	f.StringVar(&s.ID, "id", "", "")
	f.StringVar(&s.Kind, "kind", "", "")
	f.Uint64Var(&s.Seed, "seed", 0, "")
	f.DurationVar(&s.Life, "life", 0, "")
	f.StringVar(&s.Root, "root", "", "")
	f.StringVar(&s.Side, "side", "", "")
	f.StringVar(&s.Logs, "logs", "", "")
	f.StringVar(&s.Self, "self", "", "")
	f.StringVar(&s.Bin, "bin", "", "")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	return actor.Run(s)
}
