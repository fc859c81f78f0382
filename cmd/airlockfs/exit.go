package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/backing"
)

// The exit codes. They are a contract: scripts depend on them.
const (
	exitFine       = 0
	exitProblems   = 1
	exitUsage      = 2
	exitMount      = 3
	exitNoMount    = 4
	exitBusy       = 5
	exitBacking    = 6
	exitCannotRun  = 126
	exitNoSuchFile = 127
	exitSignal     = 128 // and the signal's number is added
)

var exitMeanings = []exitMeaning{
	{"0", "fine", ""},
	{"1", "check found problems; an order was refused; or a call failed, as the message says", ""},
	{"2", "the command line or the configuration is wrong; check: it could not look", ""},
	{"3", "the folder could not be mounted", "mount try"},
	{"4", "no airlockfs mount is there, or its daemon died", "umount status ls why locks events release requeue discard publish check rules run try"},
	{"5", "busy: the mount is in use, or another daemon serves the backing", "mount umount try"},
	{"6", "the backing is missing, not usable, or lacks what is required", "mount try"},
	{"run, try", "the status of CMD, 128 + N if signal N killed it; 126, 127 as in a shell", "run try"},
}

type exitMeaning struct {
	code, meaning string
	commands      string // that can give it; "" for all
}

// of tells whether a command can give the code; the program as a whole can give each.
func (m exitMeaning) of(cmd *cobra.Command) bool {
	return !cmd.HasParent() || m.commands == "" || slices.Contains(strings.Fields(m.commands), cmd.Name())
}

func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, m := range exitMeanings {
		fmt.Fprintf(&b, "  %-9s %s\n", m.code, m.meaning)
	}
	return strings.TrimRight(b.String(), "\n")
}

// codedError is an error that decides the exit code. Without a cause nothing is printed: all was said.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codedError) Unwrap() error { return e.err }

func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code, err}
}

func failf(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

// exitWith ends the program with a status and says nothing.
func exitWith(code int) error {
	if code == exitFine {
		return nil
	}
	return &codedError{code: code}
}

func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, syscall.ENOTCONN):
		return exitNoMount
	case errors.Is(err, backing.ErrInUse), errors.Is(err, syscall.EBUSY):
		return exitBusy
	}
	return exitProblems
}

// mountHelperCode translates into the codes that mount(8) lays down.
func mountHelperCode(err error) int {
	const usage, failure = 1, 32
	switch exitCode(err) {
	case exitFine:
		return exitFine
	case exitUsage:
		return usage
	}
	return failure
}
