package main

import "github.com/spf13/cobra"

func newReleaseCommand() *cobra.Command {
	cmd, _ := newOrderCommand("release", "end the claim on a file: it goes back to everybody",
		`Take a file away from who works on it, as if that had ended: it is public again, or
waits behind a newer file of its name. The former claimant can neither read on nor
remove or replace the file, unless it opens it anew. No attempt is counted.`, "claimed")
	return cmd
}
