package fusefs

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/checkup"
	"github.com/airlockfs/airlockfs/protocol"
	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// edited is a backing that somebody with more courage than knowledge works on.
type edited struct {
	dir string
	r   *rand.Rand
	log []string // what he did
}

// newEdited makes a backing with an item in every state, in two folders.
func newEdited(t *testing.T, seed uint64) *edited {
	e := &edited{dir: scratch(t), r: rand.New(rand.NewPCG(seed, 0))}
	e.write("f", "public")
	for n, folder := range []string{"0", "1", "2"} {
		e.write([]string{"", "in/", "in/sub/"}[n]+"public", "")
		for _, area := range protocol.Areas() {
			state := map[string]protocol.State{"staging": protocol.Staged, "parked": protocol.Parked, "abandoned": protocol.Abandoned,
				"held": protocol.Held, "claimed": protocol.Claimed, "quarantine": protocol.Quarantined}[area]
			p := protocol.Place{State: state, Folder: folder, Owner: protocol.Process{PID: 4_000_000, Start: 1}}
			if state == protocol.Held {
				p.Barrier = protocol.BarrierOlder
			}
			e.write(".airlockfs/"+area+"/"+p.Dir()+"/"+area, "")
			e.write(".airlockfs/"+area+"/"+p.Dir()+"/public", "")
		}
		e.write(fmt.Sprintf(".airlockfs/replaced/%d~%s/public", time.Now().Add(time.Hour).UnixNano(), folder), "")
	}
	require.NoError(t, os.WriteFile(e.path(".airlockfs/format"), []byte("airlockfs 1\n"), 0o600))
	require.NoError(t, os.MkdirAll(e.path(".airlockfs/folders"), 0o700))
	require.NoError(t, os.Symlink("in", e.path(".airlockfs/folders/1")))
	require.NoError(t, os.Symlink("in/sub", e.path(".airlockfs/folders/2")))
	return e
}

func (e *edited) path(name string) string { return filepath.Join(e.dir, name) }

// write makes a file whose bytes no other file has.
func (e *edited) write(name, text string) {
	_ = os.MkdirAll(filepath.Dir(e.path(name)), 0o700)
	_ = os.WriteFile(e.path(name), []byte(fmt.Sprint(text, name, len(e.log))), 0o600)
}

// bytes are the contents of all files, with a place each.
func (e *edited) bytes(t *testing.T) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, "/format") {
			var b []byte
			b, err = os.ReadFile(path)
			all[string(b)] = path
		}
		return err
	}))
	return all
}

// any is something in the control folder, below, or beside it.
func (e *edited) any(only func(fs.DirEntry) bool) string {
	var all []string
	_ = filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != e.dir && path != e.path(backing.Control) && only(d) {
			all = append(all, path)
		}
		return nil
	})
	return all[e.r.IntN(len(all))]
}

func anything(fs.DirEntry) bool             { return true }
func onlyFolders(d fs.DirEntry) bool        { return d.IsDir() }
func onlyFiles(d fs.DirEntry) bool          { return d.Type().IsRegular() }
func noFiles(d fs.DirEntry) bool            { return !d.Type().IsRegular() }
func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

var (
	oddNames = []string{"0", "1", "zz", "1.new", "1.5.new", "x", "public", "f", "0~0~0.0.0.0.0.0", "1~1~0.0.0.0.0.0", "zz~0~0.0.0.0.0.0", "2~0~0.0.0.0.0.0~older",
		"1~0~0.0.1.2.0.0~quiet", "1~0~x", "format", "format.new", "probe", "1~1", "99999999999999999999~1", "\xff", "-rf"}
	oddNotes = []string{"", "{", `{"home":"zz/x"}`, `{"home":"1/"}`, `{"home":"1/a/b"}`, `{"home":"1/public"}`, `{"home":"1/.."}`, `{"home":"0/.airlockfs"}`, `{"class":"nosuch"}`, `{"class":"log"}`,
		`{"taint":"x","attempts":-5}`, `{"until":"9999-01-01T00:00:00Z"}`, `{"ghost":true,"closed":true}`, `{"since":"0001-01-01T00:00:00Z"}`, "\x00\xff", `[]`, `{"attempts":1e99}`}
	oddTargets = []string{"in", "../..", "/etc", ".airlockfs", "gone", "in/sub", "in/public", "1", ""}
)

// edit does one thing that removes no file's bytes.
func (e *edited) edit() {
	at, to := e.any(anything), filepath.Join(e.any(onlyFolders), pick(e.r, oddNames))
	_, taken := os.Lstat(to)
	var err error
	what := e.r.IntN(10)
	switch what {
	case 0, 1:
		at = e.any(onlyFiles)
		err = unix.Setxattr(at, "user.airlockfs.note", []byte(pick(e.r, oddNotes)), 0)
	case 2:
		err = os.Chmod(at, fs.FileMode(pick(e.r, []string{"\x00", "\u01ff", "\u0140"})[0]))
	case 3, 4:
		if taken != nil {
			err = os.Rename(at, to)
		}
	case 5:
		err = os.Link(e.any(onlyFiles), to)
	case 6:
		if taken != nil {
			e.write(strings.TrimPrefix(to, e.dir+"/"), "edited")
		}
	case 7:
		err = os.Symlink(pick(e.r, oddTargets), to)
	case 8:
		err = pickCall(e.r, func() error { return unix.Mkfifo(to, 0o600) }, func() error { return os.Mkdir(to, 0o700) })
	case 9:
		at = e.any(noFiles)
		err = os.Remove(at)
	}
	e.log = append(e.log, fmt.Sprint(what, " ", strings.TrimPrefix(at, e.dir), " → ", strings.TrimPrefix(to, e.dir), ": ", err))
}

func pickCall(r *rand.Rand, calls ...func() error) error { return calls[r.IntN(len(calls))]() }

// mount is what a mount does before it serves, and at its end.
func (e *edited) mount(t *testing.T, callers *caller.Table) error {
	s, err := backing.Open(e.dir, backing.Options{Areas: protocol.Areas()})
	require.NoError(t, err)
	defer s.Close()
	if err := s.Acquire(); err != nil {
		return err
	}
	rules, err := protocol.NewRules(nil, protocol.DefaultNames())
	require.NoError(t, err)
	d := newDesk(Config{Store: s, Callers: callers, Rules: rules, Log: slog.New(slog.DiscardHandler), Now: time.Now, KeepReplaced: time.Hour, Abandoned: time.Hour})
	d.mu.Lock()
	err = d.prepareLocked()
	d.mu.Unlock()
	if err == nil {
		_ = d.statusFor(0)
	}
	d.stop()
	return err
}

// check is `airlockfs check`; each finding is a sentence, and what to do.
func (e *edited) check(t *testing.T) {
	s, err := backing.Open(e.dir, backing.Options{Areas: protocol.Areas()})
	require.NoError(t, err)
	defer s.Close()
	no := func(protocol.Process) bool { return false }
	findings, err := checkup.Run(s, checkup.Facts{Served: func(backing.ID) bool { return false }, Here: no, Alive: no})
	require.NoError(t, err)
	for _, f := range findings {
		require.NotEmpty(t, f.What)
		require.NotEmpty(t, f.Do)
	}
}

// Whatever somebody does in the control folder by hand, a mount takes it up or refuses with a sentence, check explains, and
// the bytes that were there are still somewhere. EDITS_SEED repeats a failure, EDITS_ROUNDS looks for more.
func TestEditsByHandCostNoBytes(t *testing.T) {
	callers, err := caller.New(caller.Options{})
	require.NoError(t, err)
	defer callers.Close()
	seed := surroundings.Number(t, "EDITS_SEED", uint64(time.Now().UnixNano()))
	rounds := surroundings.Number(t, "EDITS_ROUNDS", 0)
	var mounted int
	var refused error
	for n := range uint64(max(rounds, 40/everyStep)) {
		e := newEdited(t, seed+n)
		for range e.r.IntN(6) {
			e.edit()
		}
		before := e.bytes(t)
		e.check(t)
		err := e.mount(t, callers)
		if err == nil {
			mounted++
		} else {
			refused = err
			require.Greater(t, strings.Count(err.Error(), " "), 5, "no sentence: %v\n%s", err, strings.Join(e.log, "\n"))
		}
		e.check(t)
		for text, path := range e.bytes(t) {
			before[text] = path + " (still)"
		}
		for text, path := range before {
			require.Contains(t, path, "(still)", "EDITS_SEED=%d: the bytes %q are gone from %s\n%s", seed+n, text, path, strings.Join(e.log, "\n"))
		}
		require.NoError(t, os.RemoveAll(e.dir))
	}
	require.NotZero(t, mounted, "every mount was refused: %v", refused)
}
