package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const about = `airlockfs mounts a folder so that programs hand files to each other through it safely:
a file appears when it is complete, one reader gets it, and it comes back if that
reader fails. Programs need not know of it.

`

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "airlockfs",
		Short:         "hand files over through a folder, safely",
		Long:          about + exitCodeHelp(),
		Version:       version,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(usageError)
	cmd.SetVersionTemplate(versionText())
	cmd.AddCommand(
		newMountCommand(), newUmountCommand(), newStatusCommand(), newLsCommand(), newWhyCommand(), newLocksCommand(), newEventsCommand(),
		newReleaseCommand(), newRequeueCommand(), newDiscardCommand(), newPublishCommand(),
		newCheckCommand(), newRulesCommand(), newRunCommand(), newTryCommand(), newVersionCommand(), newManCommand(),
		newCompletionCommand(), newSuperviseCommand(),
	)
	cmd.SetHelpCommand(newHelpCommand())
	completeNoFiles(cmd)
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if name := cmd.Name(); name == cobra.ShellCompRequestCmd || name == cobra.ShellCompNoDescRequestCmd {
			plainUsages(cmd.Root())
		}
	}
	return cmd
}

// knownCommand runs only if the first argument names no command.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see airlockfs --help"
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return failf(exitUsage, "there is no command %q: %s", args[0], hint)
}
