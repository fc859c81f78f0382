package main

// The configurations that are compared.
const (
	native    = "native"
	bindfs    = "bindfs"
	loopback  = "loopback"
	airlockfs = "airlockfs"
)

// config is one way to reach the backing.
type config struct {
	name string

	// command serves backing at point in the foreground; nil works on the
	// backing itself. The flags are for airlockfs only.
	command func(flags []string, backing, point string) []string

	// handsOff: the filesystem itself hides what is unfinished and makes the
	// first reader's open the claim. Elsewhere names are hidden by nobody and
	// claimed by a rename.
	handsOff bool
}

// configurations in the order of the report's columns; self is this program,
// bin the airlockfs binary.
func configurations(self, bin string) []config {
	return []config{
		{name: native},
		{name: bindfs, command: func(_ []string, backing, point string) []string {
			return []string{"bindfs", "-f", backing, point}
		}},
		{name: loopback, command: func(_ []string, backing, point string) []string {
			return []string{self, commandLoopback, backing, point}
		}},
		{name: airlockfs, handsOff: true, command: func(flags []string, backing, point string) []string {
			argv := append([]string{bin, "mount", "-f"}, flags...)
			return append(argv, backing, point)
		}},
	}
}
