package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// takes makes a command accept so many arguments; usage names them for the error.
func takes(n int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return failf(exitUsage, "%s: write %s", show.Count(len(args), "argument was given", "arguments were given"), usage)
		}
		return noneEmpty(args, usage)
	}
}

// takesSome is takes for commands that repeat what they do for each of their arguments.
func takesSome(usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return failf(exitUsage, "an argument is missing: write %s", usage)
		}
		return noneEmpty(args, usage)
	}
}

// orHere lets the arguments of a command be left out in a mount: the working folder is then meant, as for ls(1).
func orHere(needed cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return needed(cmd, hereIfNone(args)) }
}

// hereIfNone is the working folder if there are no arguments and it is on a mount.
func hereIfNone(args []string) []string {
	if len(args) > 0 {
		return args
	}
	if _, err := findMount("."); err != nil {
		return args
	}
	return []string{"."}
}

// noneEmpty: an empty argument is a variable of a script that was not set.
func noneEmpty(args []string, usage string) error {
	if i := slices.Index(args, ""); i >= 0 {
		return failf(exitUsage, "argument %d is empty: write %s", i+1, usage)
	}
	return nil
}

// usageError says what is wrong with a flag: in one line, though it repeats what was typed.
func usageError(cmd *cobra.Command, err error) error {
	return failf(exitUsage, "%s", strings.ReplaceAll(flagMistake(cmd, err), "\n", `\n`))
}

// flagMistake says of a value what a configuration's errors say of it, and of an unknown flag which one may be meant.
func flagMistake(cmd *cobra.Command, err error) string {
	var bad *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var number *strconv.NumError
	switch {
	case errors.As(err, &bad) && bad.GetFlag().Value.Type() == "bool":
		return fmt.Sprintf("--%s: write true or false, not %q", bad.GetFlag().Name, bad.GetValue())
	case errors.As(err, &bad) && errors.As(err, &number):
		return fmt.Sprintf("--%s: write a number, not %q", bad.GetFlag().Name, bad.GetValue())
	case errors.As(err, &bad):
		return fmt.Sprintf("--%s: %s", bad.GetFlag().Name, bad.Unwrap())
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if best := closest(unknown.GetSpecifiedName(), known); best != "" {
			return err.Error() + ": did you mean --" + best + "?"
		}
		return err.Error() + ": " + cmd.CommandPath() + " --help lists those there are"
	}
	return err.Error()
}
