package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

func newDiscardCommand() *cobra.Command {
	cmd, f := newOrderCommand("discard", "remove a file in quarantine for good",
		`Remove for good what its writer left broken: a file in quarantine, or an abandoned or
parked temp file. With --force also one that is held back, claimed, or being written:
who has it open is told by its next call (ESTALE). At a terminal it asks before.`, "quarantined", "abandoned", "parked")
	var yes bool
	cmd.Flags().BoolVar(&f.order.Force, "force", false, "also what is held back, claimed, or being written")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if yes || f.asJSON || !show.IsTerminal(os.Stdin) {
			return f.give(cmd, args, nil)
		}
		return f.give(cmd, args, askToDiscard)
	}
	return cmd
}

// askToDiscard asks who sits at the terminal. Only yes is a yes.
func askToDiscard(o answered) bool {
	fmt.Fprintf(os.Stderr, "%s, %s, %s: %s\nRemove it for good? [y/N] ", show.Name(o.Named), o.was(time.Now()),
		show.Count(int(o.Item.Size), "byte", "bytes"), show.Name(o.Item.Reason))
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // without an answer: no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
