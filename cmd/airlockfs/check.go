package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/checkup"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

func newCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check BACKING|MOUNTPOINT",
		Short: "check what the disk can show to be wrong",
		Long: `Look at the backing, without changing anything, for what should never be there.
Exit code 0: nothing wrong; 1: problems were found; 2: it could not look.`,
		Args: takes(1, "airlockfs check BACKING|MOUNTPOINT"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := check(args[0])
		if err != nil {
			return explainCheck(args[0], err)
		}
		print := printCheck
		if asJSON {
			print = func(out io.Writer, c report.Check) error { return show.JSON(out, c) }
		}
		return errors.Join(print(cmd.OutOrStdout(), c), exitWith(checkCode(c)))
	}
	return cmd
}

// explainCheck tells a user what only another one may read.
func explainCheck(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return err
	case os.Geteuid() == 0, errors.Is(err, backing.ErrMissing), errors.Is(err, backing.ErrNotFolder), errors.Is(err, backing.ErrNoControl):
		return withCode(exitUsage, err)
	}
	return failf(exitUsage, "%s can be checked by root, or by who mounts it: run airlockfs check as that user", show.Name(path))
}

func check(path string) (report.Check, error) {
	root, err := findBacking(path)
	if err != nil {
		return report.Check{}, err
	}
	defer root.close()
	store, err := backing.Open(root.path, backing.Options{Areas: protocol.Areas(), Look: true})
	if err != nil {
		return report.Check{}, err
	}
	defer store.Close()
	callers, err := caller.New(caller.Options{})
	if err != nil {
		return report.Check{}, err
	}
	defer callers.Close()
	findings, err := checkup.Run(store, checkup.Facts{
		Served: func(control backing.ID) bool { return root.served || isServed(control) },
		Here:   callers.Here,
		Alive:  func(p protocol.Process) bool { _, alive := callers.Revive(p); return alive },
	})
	if root.served && errors.Is(err, backing.ErrNoControl) { // Run can't know
		err = fmt.Errorf("%w: it was removed from %s while that is mounted: what was hidden or claimed is gone; unmount, and mount again", backing.ErrNoControl, show.Name(root.name))
	}
	return report.Check{Backing: root.name, Findings: findings}, err
}

func printCheck(out io.Writer, c report.Check) error {
	for _, f := range c.Findings {
		label := "note"
		if f.Problem {
			label = "PROBLEM"
		}
		if _, err := fmt.Fprintf(out, "%s %s: %s: %s. %s.\n", label, f.Kind, show.Name(f.Where), show.Name(f.What), f.Do); err != nil {
			return err
		}
	}
	if checkCode(c) != exitFine {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s: nothing wrong\n", show.Name(c.Backing))
	return err
}

func checkCode(c report.Check) int {
	for _, f := range c.Findings {
		if f.Problem {
			return exitProblems
		}
	}
	return exitFine
}
