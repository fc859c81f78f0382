package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// version is set by the linker: -ldflags "-X main.version=…".
var version = "dev"

func main() {
	cmd := newRootCommand()
	codeOf := exitCode
	if isMountHelper(os.Args[0]) {
		cmd, codeOf = newMountHelperCommand(), mountHelperCode
	}
	os.Exit(codeOf(execute(cmd)))
}

// isMountHelper tells whether the program was called as mount(8) calls its helpers, through a link of that name.
func isMountHelper(argv0 string) bool {
	name := filepath.Base(argv0)
	return name == "mount.airlockfs" || name == "mount.fuse.airlockfs"
}

func execute(cmd *cobra.Command) error {
	err := cmd.Execute()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, cmd.Name()+":", show.Text(strings.TrimSpace(err.Error())))
	}
	return err
}
