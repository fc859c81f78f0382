package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

var shells = []string{"bash", "zsh", "fish"}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "print what makes a shell complete commands, flags and names",
		Long: `Print the script by which a shell completes the commands of airlockfs, their flags, and
the names of mounts and of hidden files. make install puts them where the shells look,
below PREFIX/share:
  bash  bash-completion/completions/airlockfs (needs the package bash-completion)
  zsh   zsh/site-functions/_airlockfs
  fish  fish/vendor_completions.d/airlockfs.fish`,
		Example:           "  source <(airlockfs completion bash)",
		Args:              knownShell,
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenBashCompletionV2(out, true)
		},
	}
}

func knownShell(cmd *cobra.Command, args []string) error {
	if err := takes(1, "airlockfs "+cmd.Use)(cmd, args); err != nil {
		return err
	}
	if !slices.Contains(shells, args[0]) {
		return failf(exitUsage, "there are no completions for %s: %s", show.Name(args[0]), didYouMean(args[0], shells))
	}
	return nil
}
