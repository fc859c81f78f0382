package main

import (
	"os/exec"

	"github.com/spf13/cobra"
)

// newSuperviseCommand is what airlockfs try runs its command by: a process whose only children are the command and what
// that leaves behind. The daemon is a child of try itself, so try could not wait for the others alone.
func newSuperviseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "supervise -- CMD [ARG…]",
		Short:  "run a command and wait for all that it leaves running",
		Hidden: true,
		Args:   someCommand,
		RunE: func(_ *cobra.Command, args []string) error {
			nameProcess()
			if err := becomeSubreaper(); err != nil {
				return err
			}
			return runAsSubreaper(exec.Command(args[0], args[1:]...))
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}
