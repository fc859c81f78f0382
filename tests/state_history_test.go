package tests

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// saveOp is one call of a history: what a job read, or saved.
type saveOp struct {
	Job   int
	Save  bool
	Value string // read, or to be saved
	OK    bool
	Begin int64 // CLOCK_MONOTONIC, which all processes share
	End   int64
}

func init() { helpers["saver"] = saverMain }

// saverMain is one job of a history: FILE JOB CALLS SEED. It reads and saves at random, and prints each call.
func saverMain(args []string) int {
	name, job := args[0], must(strconv.Atoi(args[1]))
	random := rand.New(rand.NewPCG(uint64(must(strconv.Atoi(args[3]))), uint64(job)))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for n := range must(strconv.Atoi(args[2])) {
		op := saveOp{Job: job, Save: random.IntN(5) > 1, Value: fmt.Sprintf("%d.%d", job, n)}
		op.Begin = monotonic()
		err := op.do(name, random)
		op.End, op.OK = monotonic(), err == nil
		if err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EIO) {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := json.NewEncoder(out).Encode(op); err != nil {
			return 1
		}
	}
	return 0
}

func (op *saveOp) do(name string, random *rand.Rand) error {
	switch {
	case !op.Save:
		b, err := os.ReadFile(name)
		op.Value = string(b)
		return err
	case random.IntN(2) == 0:
		return saveInPlace(name, op.Value)
	}
	if err := os.WriteFile(name+".tmp", []byte(op.Value), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

func saveInPlace(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// saves is the state of a model: the current version, and what each job has read.
type saves struct {
	current string
	known   [8]string
}

// saveModel says what a sequence of reads and saves may give. A save that is refused changes nothing; it may be, since
// somebody else writes.
var saveModel = porcupine.Model{
	Init: func() any { return saves{current: "first"} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(saves), input.(saveOp)
		known := &s.known[op.Job]
		switch {
		case !op.OK:
			return true, s
		case !op.Save:
			*known = op.Value
			return op.Value == s.current, s
		case *known != "" && *known != s.current:
			return false, s
		}
		if s.current = op.Value; *known != "" {
			*known = op.Value
		}
		return true, s
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// history has jobs work on one state file at once, and gives what each call gave.
func (m *Mount) history(name string, jobs, calls, seed int) (all []porcupine.Operation) {
	m.t.Helper()
	var started []*Process
	for n := range jobs {
		started = append(started, m.Start("%s", helperCommand("saver", name, strconv.Itoa(n), strconv.Itoa(calls), strconv.Itoa(seed))))
	}
	for _, p := range started {
		r := p.Wait()
		require.Zero(m.t, r.Code, r.Out)
		for line := range strings.Lines(r.Out) {
			var op saveOp
			require.NoError(m.t, json.Unmarshal([]byte(line), &op), line)
			all = append(all, porcupine.Operation{ClientId: op.Job, Input: op, Call: op.Begin, Return: op.End})
		}
	}
	return all
}

// TestI6_HistoriesOfSavesAreLinearizable: what jobs read and saved at once, whole and by temp name, can have come one after
// the other, no save that was accepted over a version that its job did not know.
func TestI6_HistoriesOfSavesAreLinearizable(t *testing.T) {
	m := state(t, "--sync", "none")
	for seed := range number("AIRLOCKFS_HISTORIES", 3) {
		m.Must("printf first > state/h%d", seed)
		all := m.history(fmt.Sprintf("state/h%d", seed), 4, 40, seed)
		accepted := 0
		for _, o := range all {
			if op := o.Input.(saveOp); op.Save && op.OK {
				accepted++
			}
		}
		require.NotZero(t, accepted)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(saveModel, all, 20*time.Second), "%+v", all)
	}
}
