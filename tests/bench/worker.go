package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// op does one kind of job.
type op func(job) (reply, error)

// ops of a new worker; some keep state between jobs.
func ops() map[string]op {
	held := &holder{}
	return map[string]op{
		opReady:        func(job) (reply, error) { return reply{}, nil },
		opProduce:      produce,
		opConsume:      consume,
		opProduceFresh: func(j job) (reply, error) { return fresh(verbProduce, j) },
		opConsumeFresh: func(j job) (reply, error) { return fresh(verbConsume, j) },
		opWrite:        writeStream,
		opRead:         readStream,
		opRemove:       remove,
		opList:         list,
		opHold:         held.hold,
		opDrop:         held.drop,
		opAppend:       appendLoop,
		opClaim:        claimAll,
		opFlock:        flockLoop,
		opHeld:         lockBeside,
		opLine:         lockInLine,
		opText:         text,
	}
}

const (
	opReady = "ready" // answered at once
	opText  = "text"  // the content of a small file
)

// work is the life of a worker: jobs from standard input, replies to standard
// output, until the input ends. One at a time, on one goroutine.
func work([]string) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	table := ops()
	for {
		var j job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(answer(table, j)); err != nil {
			return err
		}
	}
}

func answer(table map[string]op, j job) reply {
	do, ok := table[j.Op]
	if !ok {
		return reply{Error: fmt.Sprintf("unknown job %q", j.Op)}
	}
	r, err := do(j)
	if err != nil {
		return reply{Error: err.Error()}
	}
	return r
}

func text(j job) (reply, error) {
	content, err := os.ReadFile(j.path())
	return reply{Text: string(content)}, err
}
