package tests

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The case that the node table must survive: one name that is two versions at once, for two processes, while it is
// renamed over, with readers inside, and the kernel forgetting nodes whenever it likes.
func TestOneNameTwoVersionsForgottenAnyTime(t *testing.T) {
	m := mountAlone(t, "--rule", "state/**=shared")
	m.Must(`mkdir state; echo v0 > state/f`)
	stop := forgetter(t)
	defer stop()
	writers := []*Process{
		m.Start(`for i in $(seq 150); do echo v$i > state/f.tmp && mv state/f.tmp state/f || exit 1; done`),
		m.Start(`for i in $(seq 150); do { echo w$i > state/g && cat state/g; } >/dev/null || exit 1; done`),
	}
	readers := []*Process{
		m.Start(`for i in $(seq 300); do v=$(cat state/f) || exit 1; case $v in v*) ;; *) echo "torn: $v"; exit 2;; esac; done`),
		m.Start(`for i in $(seq 100); do exec 3<state/f; a=$(stat -L -c %s /proc/self/fd/3); b=$(wc -c <&3); [ "$a" = "$b" ] || { echo "$a is not $b"; exit 2; }; done`),
		m.Start(`for i in $(seq 200); do ls state >/dev/null && stat state/f >/dev/null || exit 1; done`),
	}
	for _, p := range append(writers, readers...) {
		r := p.Wait()
		require.Zero(t, r.Code, r.Out)
	}
	require.Equal(t, "v150", m.Must("cat state/f"))
}

// The kernel follows one ESTALE of a call: who opens a file in the moment it is replaced, and again before the kernel has
// looked, must be given something for good.
func TestI4_AFileThatIsReplacedAllTheTimeCanAlwaysBeOpened(t *testing.T) {
	for class, again := range map[string]string{"shared": "", "queue": "unlink"} {
		t.Run(class, func(t *testing.T) {
			m := mount(t, "--rule", "in/**="+class)
			m.Must("mkdir in; echo x > in/f")
			writer := m.Start(`perl -e 'for (1 .. 1000) { open F, ">in/f.tmp"; print F "x"; close F; rename "in/f.tmp", "in/f" or die }'`)
			readers := m.race(3, helperCommand("open-all-the-time", "in/f", again))
			require.Equal(t, result{}, writer.Wait())
			for _, r := range readers {
				require.NoError(t, r.in.Close())
				require.Equal(t, result{}, r.Wait())
			}
		})
	}
}

func init() { helpers["open-all-the-time"] = openAllTheTime }

// openAllTheTime opens a file until its standard input ends. Nothing but that it is not there may keep it from
// that; then somebody else has claimed it.
func openAllTheTime(args []string) int {
	startGun()
	for done := stdinEnded(); running(done); {
		f, err := os.Open(args[0])
		if errors.Is(err, os.ErrNotExist) && args[1] != "" {
			continue
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		f.Close()
	}
	return 0
}

// A child that execs closes the descriptor it inherited, and the kernel holds a lock over that which readers of its
// /proc files wait for. The daemon must not be one of them, or everybody waits for ever.
func TestExecWithInheritedDescriptorsBesidePS(t *testing.T) {
	m := mount(t)
	ps := m.Start(`while :; do ps -ef >/dev/null; cat /proc/[0-9]*/stat >/dev/null 2>&1; done`)
	defer ps.Kill()
	r := m.Run(helperCommand("exec-inherited", m.Dir))
	require.Zero(t, r.Code, r.Out)
	require.Len(t, m.List("."), 100)
}

func init() { helpers["exec-inherited"] = execInherited }

// execInherited has threads open and close files while children exec with close-on-exec writers they inherited.
func execInherited(args []string) int {
	failed := make(chan error, 4)
	for thread := range 4 {
		go func() { failed <- execLoop(args[0], thread) }()
	}
	for range 4 {
		if err := <-failed; err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

func execLoop(dir string, thread int) error {
	for n := range 25 {
		f, err := os.Create(fmt.Sprintf("%s/f%d-%d", dir, thread, n))
		if err != nil {
			return err
		}
		child, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
		if err != nil {
			return err
		}
		if _, err = f.WriteString("x"); err != nil {
			return err
		}
		if err = f.Close(); err != nil {
			return err
		}
		if _, err = child.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// forgetter has the kernel drop its dentries and inodes over and over: FORGETs come late, early and in between.
func forgetter(t *testing.T) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0); err != nil && !strings.Contains(err.Error(), "interrupted") {
					t.Error(err)
					return
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}
