package servers

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// binary is the airlockfs that is tested: the one that AIRLOCKFS_BIN names, else it is built.
var binary string

// plain runs everything on mounts that enforce nothing: tests of the protocol must then fail.
var plain = flag.Bool("plain", false, "mount with --rule '**=plain': tests of the protocol must fail")

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "6") // tests mostly wait: for servers to start, and for time-outs
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := surroundings.Pin(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "airlockfs-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("AIRLOCKFS_BIN"); binary == "" {
		binary = filepath.Join(dir, "airlockfs")
		build := exec.Command("go", "build", "-o", binary, "../../cmd/airlockfs")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the binary under test: %v\n%s", err, out)
			return 1
		}
	}
	// The sessions of a server that was killed come to us (PR_SET_CHILD_SUBREAPER(2const)), so none is overlooked.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if left := descendants(os.Getpid()); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "processes are left behind:", left)
		killAll(left)
		return 1
	}
	return code
}
