package main

import "github.com/spf13/cobra"

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "explain a command, as its --help does",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			asked, _, err := root.Find(args)
			if err != nil || asked == root {
				if err := knownCommand(root, args); err != nil {
					return err
				}
				asked = root
			}
			asked.InitDefaultHelpFlag()
			asked.InitDefaultVersionFlag()
			return asked.Help()
		},
	}
}
