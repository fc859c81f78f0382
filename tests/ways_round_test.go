package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() { helpers["sneak"] = sneakMain }

// sneak is a stranger who wants an item that another process holds.
type sneak struct {
	path   string // the item's name
	source string // what leads to the item before it is held; once it is staged only its holder's descriptor does
	spare  string // an empty folder outside the mount
	fd     int
	handle unix.FileHandle
	holder *holder
}

// way is one way round: what is prepared, and how the item is then opened, with O_RDONLY or O_PATH.
type way struct {
	prepare func(s *sneak) error
	open    func(s *sneak, flags int) (int, error)
}

var ways = map[string]way{
	"name": {(*sneak).look, func(s *sneak, flags int) (int, error) { return openPath(s.path, flags) }},
	"O_PATH descriptor": {(*sneak).pin, func(s *sneak, flags int) (int, error) {
		return openPath(fmt.Sprintf("/proc/self/fd/%d", s.fd), flags)
	}},
	"descriptor in /proc": {(*sneak).nothing, func(s *sneak, flags int) (int, error) { return openPath(s.holder.descriptor(), flags) }},
	"hard link": {func(s *sneak) error {
		return unix.Linkat(unix.AT_FDCWD, s.source, unix.AT_FDCWD, s.link(), unix.AT_SYMLINK_FOLLOW)
	}, func(s *sneak, flags int) (int, error) { return openPath(s.link(), flags) }},
	"file handle": {(*sneak).takeHandle, func(s *sneak, flags int) (int, error) {
		return unix.OpenByHandleAt(s.fd, s.handle, flags|unix.O_CLOEXEC)
	}},
	"bind mount": {(*sneak).bind, func(s *sneak, flags int) (int, error) {
		return openPath(filepath.Join(s.spare, filepath.Base(s.path)), flags)
	}},
	"mount namespace":   {(*sneak).look, func(s *sneak, flags int) (int, error) { return openPath(s.path, flags) }},
	"former descriptor": {(*sneak).inherit, func(s *sneak, flags int) (int, error) { return s.fd, nil }},
	"link of a descriptor": {(*sneak).pin, func(s *sneak, flags int) (int, error) {
		if err := unix.Linkat(s.fd, "", unix.AT_FDCWD, s.link(), unix.AT_EMPTY_PATH); err != nil {
			return -1, err
		}
		return openPath(s.link(), flags)
	}},
}

func openPath(path string, flags int) (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) }

func (s *sneak) nothing() error { return nil }
func (s *sneak) link() string   { return s.path + ".link" }

// look gets the name into the kernel's cache, if it can.
func (s *sneak) look() error {
	for range 100 {
		_, _ = os.Stat(s.path)
	}
	return nil
}

func (s *sneak) pin() (err error) {
	s.fd, err = openPath(s.source, unix.O_PATH)
	return err
}

func (s *sneak) takeHandle() (err error) {
	if s.handle, _, err = unix.NameToHandleAt(unix.AT_FDCWD, s.source, unix.AT_SYMLINK_FOLLOW); err != nil {
		return err
	}
	s.fd, err = openPath(filepath.Dir(s.path), unix.O_DIRECTORY)
	return err
}

func (s *sneak) bind() error {
	if err := unix.Mount(filepath.Dir(s.path), s.spare, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return s.look()
}

// inherit gets a descriptor of a claimant that is then killed.
func (s *sneak) inherit() error {
	former, err := hold(claiming, s.path)
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(former.Process.Pid, 0)
	if err == nil {
		s.fd, err = unix.PidfdGetfd(pidfd, 3, 0)
	}
	return errors.Join(err, former.end())
}

// holder is a process in a session of its own that has an item open as descriptor 3.
type holder struct {
	*exec.Cmd
	in io.Closer
}

// What a holder does: sh -c … FILE. Both leave the bytes in the kernel's cache.
const (
	claiming = `exec 3< "$0"; read _ <&3; echo; read _; exit 0`
	staging  = `exec 3> "$0"; echo secret >&3; echo; read _; exit 0`
)

// hold starts a holder and waits until it holds.
func hold(script, path string) (*holder, error) {
	h := &holder{Cmd: exec.Command("sh", "-c", script, path)}
	h.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h.in, _ = h.StdinPipe()
	out, err := h.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err = h.Start(); err != nil {
		return nil, err
	}
	_, err = io.ReadFull(out, make([]byte, 1))
	return h, err
}

func (h *holder) descriptor() string { return fmt.Sprintf("/proc/%d/fd/3", h.Process.Pid) }

// end kills the holder.
func (h *holder) end() error {
	if err := h.Process.Kill(); err != nil {
		return err
	}
	_ = h.Wait() // it was killed
	return nil
}

// leave lets the holder go on to its ordinary end.
func (h *holder) leave() error {
	h.in.Close()
	return h.Wait()
}

// sneakMain tries a WAY round the hold of another process that does WHAT ("claiming", "staging") to FILE, and reads it or
// looks at its size (HOW "read", "stat"). It prints what it got, or the error; the item is not held any more then.
func sneakMain(args []string) int {
	w, what, how := ways[args[0]], args[1], args[2]
	s := &sneak{path: args[3], source: args[3], spare: args[4]}
	if err := s.try(w, what, how); err != nil {
		fmt.Println(err)
	}
	if s.holder == nil {
		return 1
	}
	if err := s.holder.leave(); err != nil {
		fmt.Println("the holder:", err)
		return 1
	}
	return 0
}

func (s *sneak) try(w way, what, how string) (err error) {
	if what == "claiming" {
		if err = w.prepare(s); err != nil {
			return err
		}
		if s.holder, err = hold(claiming, s.path); err != nil {
			return err
		}
		return s.get(w, how)
	}
	if s.holder, err = hold(staging, s.path); err != nil {
		return err
	}
	s.source = s.holder.descriptor()
	if err = w.prepare(s); err != nil {
		return err
	}
	return s.get(w, how)
}

// get opens the item and prints what it learns of it.
func (s *sneak) get(w way, how string) error {
	if how == "stat" {
		fd, err := w.open(s, unix.O_PATH)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil {
			fmt.Println("got: size", st.Size)
		}
		return err
	}
	fd, err := w.open(s, unix.O_RDONLY)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, err := unix.Pread(fd, buf, 0)
	if n > 0 {
		fmt.Printf("got: %s\n", bytes.TrimSpace(buf[:n]))
	}
	return err
}

// sneak tries a way round in a process of its own, which may mount what it likes.
func (m *Mount) sneak(name, what, how string) string {
	m.t.Helper()
	return m.Must("unshare --mount env %s", helperCommand("sneak", name, what, how, m.Path("in/f"), scratch(m.t)))
}

// The refusals. A name that others hold is as if it were not there; a descriptor's claim is over.
const (
	notThere = "no such file or directory"
	over     = "stale file handle"
)

func TestI3_NoWayRoundAClaim(t *testing.T) {
	for name := range ways {
		t.Run(strings.ReplaceAll(name, "/", ""), func(t *testing.T) {
			m := mount(t)
			m.Must(`mkdir in; echo secret > in/f`)
			require.Contains(t, []string{notThere, over}, m.sneak(name, "claiming", "read"))
			require.Equal(t, "secret", m.Must(`cat in/f`), "the claimant gave it back")
			require.Equal(t, name == "hard link", m.Run(`cat in/f.link`).Code == 0, "a link made while it was public stays")
		})
	}
}

func TestI5_TheDescriptorOfAFormerClaimantIsStale(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir in; echo secret > in/f`)
	require.Equal(t, over, m.sneak("former descriptor", "claiming", "read"))
	require.Equal(t, "1", m.attempts("in/f"))
}

// The former claimant's pages are gone before the next one's open has returned, however close they follow each other.
func TestI5_AFormerClaimantReadsNothingOnceAnotherHasTheItem(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir in; echo secret > in/f`)
	for range 100 {
		require.Equal(t, over, m.sneak("former descriptor", "claiming", "read"))
	}
}

func TestI1_NoWayRoundAWriter(t *testing.T) {
	for name := range ways {
		if name == "former descriptor" {
			continue // it takes a reader
		}
		for _, how := range []string{"read", "stat"} {
			t.Run(strings.ReplaceAll(name, "/", "")+" "+how, func(t *testing.T) {
				m := mount(t)
				m.Must(`mkdir in`)
				require.Contains(t, []string{notThere, over}, m.sneak(name, "staging", how))
				require.Equal(t, "secret", m.Must(`cat in/f`), "the writer published it")
				require.NotZero(t, m.Run(`cat in/f.link`).Code)
			})
		}
	}
}

// A way that leads nowhere would pass the tests above.
func TestTheWaysRoundLeadToWhatIsNotGuarded(t *testing.T) {
	for name := range ways {
		t.Run(strings.ReplaceAll(name, "/", ""), func(t *testing.T) {
			m := mount(t, "--rule", "**=plain")
			m.Must(`mkdir in; echo secret > in/f`)
			require.Equal(t, "got: secret", m.sneak(name, "claiming", "read"))
			m.Must(`rm -f in/f*`)
			if name != "former descriptor" {
				require.Equal(t, "got: size 7", m.sneak(name, "staging", "stat"))
			}
		})
	}
}
