// Package tests drives the built binary on real mounts, from other processes, as its users do. It imports nothing of
// the product but the JSON it prints.
package tests

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// binary is the airlockfs that is tested; AIRLOCKFS_BIN names one that is there, else it is built, as the tests are: with
// the race detector or without.
var binary string

// built is the folder of what was built for the tests.
var built string

// plain runs everything on mounts that enforce nothing: the suite must then fail (scripts/red.sh).
var plain = flag.Bool("plain", false, "mount with --rule '**=plain': tests of the protocol must fail")

func init() {
	flag.DurationVar(&patience, "patience", 30*time.Second, "how long to wait for what must happen")
}

func TestMain(m *testing.M) {
	flag.Parse()
	if helper := os.Getenv("AIRLOCKFS_TEST_HELPER"); helper != "" {
		os.Exit(runHelper(helper))
	}
	beside()
	os.Exit(run(m))
}

// beside has as many tests run at the same time as keep the processors busy: most of them wait for processes to start
// and end. -parallel says otherwise.
func beside() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
}

func run(m *testing.M) int {
	// Without GORACE every helper and daemon takes a second to end.
	if err := errors.Join(surroundings.Pin(), os.Setenv("GORACE", "atexit_sleep_ms=0")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var err error
	if built, err = os.MkdirTemp("", "airlockfs-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	if err := os.Chmod(built, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary = os.Getenv("AIRLOCKFS_BIN"); binary == "" {
		binary = filepath.Join(built, "airlockfs")
		if out, err := build(binary).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the binary under test: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// build builds the binary under test, with build tags beside those in AIRLOCKFS_TAGS ("slowrelease" delays each RELEASE).
func build(to string, tags ...string) *exec.Cmd {
	tags = append(tags, os.Getenv("AIRLOCKFS_TAGS"))
	args := []string{"build", "-o", to, "-tags", strings.Join(tags, ",")}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "../cmd/airlockfs")...)
	cmd.Env = os.Environ()
	if !raceEnabled {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	return cmd
}

// helpers are small programs that this test binary is when it is started with their name: clients that shells can't be.
var helpers = map[string]func(args []string) int{}

func runHelper(name string) int {
	f, ok := helpers[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such helper:", name)
		return 2
	}
	return f(flag.Args())
}

// helperCommand is the shell words that start a helper.
func helperCommand(name string, args ...string) string {
	words := []string{"AIRLOCKFS_TEST_HELPER=" + name, quote(os.Args[0])}
	for _, a := range args {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

// quote makes one shell word of a string.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
