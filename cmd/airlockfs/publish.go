package main

import "github.com/spf13/cobra"

func newPublishCommand() *cobra.Command {
	cmd, f := newOrderCommand("publish", "show a complete file that is held back",
		`Show a closed file now, without what it waits for (quiet, exit, rename, older …); or a
closed temp file, under the name that --as gives it. Refused while somebody has it open
for writing, and if a write on it failed.`, "held", "staged", "parked")
	f.addAs(cmd)
	return cmd
}
