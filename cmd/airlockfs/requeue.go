package main

import "github.com/spf13/cobra"

func newRequeueCommand() *cobra.Command {
	cmd, f := newOrderCommand("requeue", "deliver a file from quarantine all the same",
		`Deliver what its writer left broken, after a look at its bytes (airlockfs why PATH says
where they are): from quarantine, or an abandoned or parked temp file. It is public at
once, or waits behind a newer file of its name; its failed attempts are forgotten.`, "quarantined", "abandoned", "parked")
	f.addAs(cmd)
	return cmd
}
