package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	helpers["act"] = actor
	helpers["look"] = looker
}

// rounds is how often each thing is done and looked at: fewer where each starts a process, or takes the 300 ms by which
// RELEASE is delayed.
func rounds(act string) int {
	switch {
	case delayed():
		return 3
	case slices.Contains([]string{"close", "mmap", "rename", "unlock", "lock-close"}, act):
		return 500
	}
	return 150
}

// delayed: the daemon is built with the tag that holds each RELEASE up.
func delayed() bool { return strings.Contains(os.Getenv("AIRLOCKFS_TAGS"), "slowrelease") }

// TestI7_WhoLooksAtOnceSeesIt: when the call that ends something has returned, a stranger who has been there all the
// time sees the consequence, without a retry.
func TestI7_WhoLooksAtOnceSeesIt(t *testing.T) {
	for _, act := range []string{"close", "exit", "mmap", "rename", "link", "claim-exit", "claim-kill", "claim-move"} {
		t.Run(act, func(t *testing.T) { actAndLook(t, act) })
	}
}

// TestI7_WhoTriesAtOnceGetsALockThatIsFree: a lock ends with its unlock, its descriptor or its holder.
func TestI7_WhoTriesAtOnceGetsALockThatIsFree(t *testing.T) {
	for _, act := range []string{"unlock", "unlock-posix", "lock-close", "lock-close-posix", "lock-exit", "lock-kill"} {
		t.Run(act, func(t *testing.T) { actAndLook(t, act) })
	}
}

// TestI7_StatusNamesNoClaimantThatEnded: the claim of a program goes to its script, on to that one's, and ends with it.
func TestI7_StatusNamesNoClaimantThatEnded(t *testing.T) {
	m := mount(t)
	m.Must("echo data > f")
	for range 10 {
		p := m.Start(`bash -c "cat f; read -r; exit 0"; exit 0`)
		m.Until("the script has inherited the claim", func() bool {
			items := m.Status()["f"]
			return len(items) == 1 && items[0].Owner != nil && items[0].Owner.Program == "bash" && items[0].Readers == 0
		})
		p.Say()
		require.Zero(t, p.Wait().Code)
		require.Empty(t, m.Status())
	}
}

func actAndLook(t *testing.T, act string) {
	m := mount(t)
	r := m.Run("%s", ": > x.lock; "+helperCommand("act", act, strconv.Itoa(rounds(act))))
	require.Zero(t, r.Code, r.Out)
}

// acts are what an actor does in a round. Half-way it calls before: the name must not be there yet, or x.lock be locked.
// After it the name is there, complete, for whoever comes first, or x.lock free.
var acts = map[string]func(name string, before func() error) error{
	"close": writeFile,
	"mmap":  writeMapped,
	"exit": func(name string, before func() error) error {
		return shell("exec 3>"+name+"; echo data >&3; echo; read x; exit 0", before)
	},
	"rename": func(name string, before func() error) error {
		return errors.Join(writeFile("t.tmp", nothing), before(), os.Rename("t.tmp", name))
	},
	"link": func(name string, before func() error) error {
		return errors.Join(writeFile("t.tmp", nothing), before(), os.Link("t.tmp", name), os.Remove("t.tmp"))
	},

	"claim-exit": func(name string, before func() error) error {
		return errors.Join(writeFile(name, nothing), shell("exec 3<"+name+"; echo; read x; exit 0", before))
	},
	"claim-kill": func(name string, before func() error) error {
		return errors.Join(writeFile(name, nothing), killed("exec 3<"+name+"; echo; read x", before))
	},
	"claim-move": func(name string, before func() error) error {
		return errors.Join(writeFile("in", nothing), shell("exec 3<in; echo; read x; exec mv in "+name, before))
	},

	"unlock": func(_ string, before func() error) error {
		return locked(flock, func(f *os.File) error { return errors.Join(before(), flock(f, syscall.LOCK_UN)) })
	},
	"unlock-posix": func(_ string, before func() error) error {
		return locked(posixLock, func(f *os.File) error { return errors.Join(before(), posixLock(f, syscall.LOCK_UN)) })
	},
	"lock-close": func(_ string, before func() error) error {
		return locked(flock, func(f *os.File) error { return errors.Join(before(), f.Close()) })
	},
	"lock-close-posix": func(_ string, before func() error) error {
		return locked(posixLock, func(f *os.File) error { return errors.Join(before(), f.Close()) })
	},
	"lock-exit": func(_ string, before func() error) error {
		return shell("exec 3>>x.lock; flock -n 3 || exit; echo; read x; exit 0", before)
	},
	"lock-kill": func(_ string, before func() error) error {
		return killed("exec 3>>x.lock; flock -n 3 || exit; echo; read x", before)
	},
}

func nothing() error { return nil }

// actor acts again and again, and each time has a stranger look at once.
func actor(args []string) int {
	n, err := strconv.Atoi(args[1])
	if err == nil {
		err = actAndAsk(args[0], n)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func actAndAsk(act string, n int) error {
	l := exec.Command(os.Args[0])
	l.Env = append(os.Environ(), "AIRLOCKFS_TEST_HELPER=look")
	l.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ask, err1 := l.StdinPipe()
	answers, err2 := l.StdoutPipe()
	if err := errors.Join(err1, err2, l.Start()); err != nil {
		return err
	}
	answer := bufio.NewReader(answers)
	var err error
	for i := 0; i < n && err == nil; i++ {
		if err = actOnce(act, i, ask, answer); err != nil {
			err = fmt.Errorf("round %d: %w", i, err)
		}
	}
	return errors.Join(err, ask.Close(), l.Wait())
}

func actOnce(act string, i int, ask io.Writer, answer *bufio.Reader) error {
	name, before, after := fmt.Sprintf("f%d", i), "absent", []string{"open", "stat", "list"}[i%3]
	if strings.Contains(act, "lock") {
		name, before, after = "x.lock", "locked", "flock"
	}
	if strings.HasSuffix(act, "posix") {
		before, after = "locked-posix", "posix"
	}
	look := func(how string) error {
		fmt.Fprintln(ask, how, name)
		got, err := answer.ReadString('\n')
		if err == nil && got != "ok\n" {
			err = fmt.Errorf("%s: %s", how, got)
		}
		return err
	}
	if err := acts[act](name, func() error { return look(before) }); err != nil {
		return err
	}
	return look(after)
}

// looker looks as it is asked, and answers what it saw.
func looker([]string) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		how, name, _ := strings.Cut(in.Text(), " ")
		if err := looks[how](name); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		fmt.Println("ok")
	}
	return 0
}

// looks are ways to look for a name, or to try a lock. What is found is then taken, for the next round.
var looks = map[string]func(name string) error{
	"open": takeFile,
	"stat": func(name string) error {
		fi, err := os.Stat(name)
		if err == nil && fi.Size() != int64(len(fileData)) {
			err = fmt.Errorf("%d bytes", fi.Size())
		}
		return errors.Join(err, takeFile(name))
	},
	"list": func(name string) error {
		f, err := os.Open(".")
		if err != nil {
			return err
		}
		defer f.Close()
		names, err := f.Readdirnames(-1)
		if err == nil && !slices.Contains(names, name) {
			err = fmt.Errorf("not among %q", names)
		}
		return errors.Join(err, takeFile(name))
	},
	"absent": func(name string) error {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	},
	"flock":        func(string) error { return locked(flock, (*os.File).Close) },
	"posix":        func(string) error { return locked(posixLock, (*os.File).Close) },
	"locked":       func(string) error { return refused(locked(flock, (*os.File).Close)) },
	"locked-posix": func(string) error { return refused(locked(posixLock, (*os.File).Close)) },
}

// refused is nil if a lock was refused.
func refused(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	return fmt.Errorf("it is not locked: %w", err)
}

const fileData = "data\n"

func writeFile(name string, before func() error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteString(fileData)
	return errors.Join(err, before(), f.Close())
}

// writeMapped writes through a mapping that outlives the descriptor.
func writeMapped(name string, before func() error) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err = f.Truncate(int64(len(fileData))); err != nil {
		return err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, len(fileData), syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	copy(b, fileData)
	return errors.Join(f.Close(), before(), syscall.Munmap(b))
}

// takeFile reads a file and removes it.
func takeFile(name string) error {
	b, err := os.ReadFile(name)
	if err == nil && string(b) != fileData {
		err = fmt.Errorf("it contains %q", b)
	}
	return errors.Join(err, os.Remove(name))
}

// shell runs a script that is a stranger to its parent, and waits for its end. It says when it is half-way, and then waits
// for the end of its input.
func shell(script string, before func() error) error {
	c := exec.Command("/bin/sh", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err1, err2, c.Start()); err != nil {
		return err
	}
	_, err := out.Read(make([]byte, 1))
	return errors.Join(err, before(), in.Close(), c.Wait())
}

// killed is shell for a script that kills itself at its end.
func killed(script string, before func() error) error {
	var early error
	err := shell(script+"; kill -9 $$", func() error { early = before(); return nil })
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return early
	}
	return fmt.Errorf("it was not killed: %w", err)
}

func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how) }

// posixLock is fcntl(2) locking with the constants of flock(2).
func posixLock(f *os.File, how int) error {
	kind := int16(syscall.F_WRLCK)
	if how == syscall.LOCK_UN {
		kind = syscall.F_UNLCK
	}
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: kind})
}

// locked takes the lock, which must be free, and ends it.
func locked(take func(f *os.File, how int) error, end func(*os.File) error) error {
	f, err := os.OpenFile("x.lock", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = take(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("it is still locked: %w", err)
	}
	return end(f)
}
