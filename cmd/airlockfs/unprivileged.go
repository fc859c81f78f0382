package main

import (
	"os"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// withoutRoot says what is different because it is not root who mounts.
func withoutRoot(onlyMounter bool) []string {
	me := show.User(uint32(os.Geteuid()))
	switch {
	case os.Geteuid() == 0:
		return nil
	case onlyMounter:
		return []string{"only user " + me + " can use this mount, not even root: /etc/fuse.conf does not allow others (user_allow_other), or mount as root"}
	}
	return []string{"other users can only read in this mount: a file that they make would have to be given to them, which takes root"}
}
