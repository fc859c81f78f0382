package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newTryCommand() *cobra.Command {
	s := &settings{}
	var keep bool
	tuning := s.mountFlags()
	cmd := &cobra.Command{
		Use: "try [--keep] [flags] -- CMD [ARG…]",

		DisableFlagsInUseLine: true,

		Short: "run a command in a scratch mount and print what happened to each file",
		Long: `Make an empty scratch mount, run CMD in it ($AIRLOCKFS_MOUNT says where it is), print
what happened to each file and what became of it, and remove everything. It waits for
all that CMD leaves running, until a signal comes, and ends with CMD's status.`,
		Example: `  airlockfs try -- sh -c 'echo hello > a.txt; cat a.txt; rm a.txt'`,
		Args:    someCommand,
	}
	tuning.VisitAll(func(f *pflag.Flag) {
		if f.Name != "foreground" && f.Name != "log" { // the scratch mount's own
			cmd.Flags().AddFlag(f)
		}
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the backing and say where it is")
	completeFlags(cmd, tuning)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.readConfig(tuning); err != nil {
			return err
		}
		for _, r := range s.rules {
			for _, warning := range r.Warnings() {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+warning)
			}
		}
		return try(cmd, flagArgs(tuning), args, keep)
	}
	return cmd
}

// flagArgs writes the flags that were given as arguments again.
func flagArgs(f *pflag.FlagSet) []string {
	var args []string
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		values := []string{flag.Value.String()}
		if l, ok := flag.Value.(*list); ok {
			values = l.given
		}
		for _, v := range values {
			args = append(args, "--"+flag.Name+"="+v)
		}
	})
	return args
}

func try(cmd *cobra.Command, flags, command []string, keep bool) (err error) {
	signals := catchForwarded() // from here on Ctrl-C ends the command, and what was made is removed
	s, err := newScratch(flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(cmd.OutOrStdout(), keep)) }()
	status, err := s.run(command, signals)
	if err != nil {
		return err
	}
	return errors.Join(s.tell(cmd.OutOrStdout()), exitWith(statusCode(status)))
}

// tell prints what happened to each file, and what became of it.
func (s *scratch) tell(out io.Writer) error {
	m := livingMount{root: s.mountpoint}
	events, err := m.events()
	if err != nil {
		return err
	}
	now, err := m.status()
	if err != nil {
		return err
	}
	users := usersOf(s.mountpoint)
	if err := printTimeline(out, events, outcomes(events, now.Items)); err != nil || len(users) == 0 {
		return err
	}
	_, err = fmt.Fprintf(out, "still running, and now without the mount: %s\n", usersText(users))
	return err
}
