// Package surroundings makes tests that run other people's programs see the same on every machine: what those programs
// take from their environment is not what is tested.
package surroundings

import (
	"os"

	"golang.org/x/sys/unix"
)

// Pin sets, for this process and all that it starts, what programs do differently by: the umask, with which files of
// root's are unreadable to the other users of a test; the shell that script(1) and editors run commands with; the
// language of messages; and whether output is coloured. It is called once, before anything else.
func Pin() error {
	unix.Umask(0o022)
	for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE", "BASH_ENV", "ENV", "CDPATH", "POSIXLY_CORRECT", "EDITOR", "VISUAL", "PAGER", "LESS"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{"SHELL": "/bin/bash", "LC_ALL": "C.UTF-8", "TERM": "dumb"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
