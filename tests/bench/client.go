package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// client commands one worker process over a pair of pipes. One call at a time.
type client struct {
	process *process
	jobs    *os.File // the worker's standard input
	replies *os.File // its standard output
	out     *json.Encoder
	in      *json.Decoder
}

// startClient starts self as a worker in a new session.
func startClient(self string) (*client, error) {
	stdin, jobs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	replies, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, jobs.Close())
	}
	defer stdout.Close()

	cmd := exec.Command(self, commandWorker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	// A preemption signal of the Go runtime would interrupt filesystem calls,
	// which a client in C never suffers.
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	p, err := startProcess(cmd, unix.SIGKILL)
	if err != nil {
		return nil, errors.Join(err, jobs.Close(), replies.Close())
	}
	return &client{process: p, jobs: jobs, replies: replies,
		out: json.NewEncoder(jobs), in: json.NewDecoder(replies)}, nil
}

// call sends the job and waits for its reply. When ctx ends the worker is
// killed, and the cause of that is the error.
func (c *client) call(ctx context.Context, j job) (reply, error) {
	stop := context.AfterFunc(ctx, c.process.kill)
	defer stop()
	var r reply
	err := c.out.Encode(j)
	if err == nil {
		err = c.in.Decode(&r)
	}
	switch {
	case ctx.Err() != nil:
		return reply{}, fmt.Errorf("%s: %w", j.Op, context.Cause(ctx))
	case err != nil:
		return reply{}, fmt.Errorf("%s: the worker is gone: %w", j.Op, err)
	case r.Error != "":
		return reply{}, fmt.Errorf("%s: %s", j.Op, r.Error)
	}
	return r, nil
}

// close ends the worker: kindly, by the end of its input, else by force.
func (c *client) close() error {
	err := c.jobs.Close()
	if !c.process.endedWithin(patience) {
		c.process.kill()
		if !c.process.endedWithin(patience) {
			err = errors.Join(err, fmt.Errorf("worker %d cannot be killed", c.process.cmd.Process.Pid))
		}
	}
	return errors.Join(err, c.replies.Close())
}
