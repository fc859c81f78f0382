package checkup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// disk is a healthy backing: a folder "in" with the key 1, and something in every area.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) disk {
	d := disk{t, t.TempDir()}
	s, err := backing.Open(d.dir, backing.Options{Areas: protocol.Areas()})
	require.NoError(t, err)
	require.NoError(t, s.Acquire())
	require.NoError(t, s.MakePrivate(inControl(foldersArea)))
	require.NoError(t, s.MakePrivate(inControl(replacedArea)))
	require.NoError(t, s.MakePrivate(inControl(tokensArea)))
	require.NoError(t, s.MakePrivate(inControl(marksArea)))
	require.NoError(t, s.Close())
	d.folder(control("tokens/1"))
	d.file("in/public")
	d.file("in/x.lock")
	d.link("in", "folders/1")
	d.item(place(protocol.Staged, "1"), "a")
	d.item(place(protocol.Parked, "0"), "b.tmp")
	d.item(place(protocol.Claimed, "1"), "c")
	held := place(protocol.Held, "1")
	held.Barrier = protocol.BarrierOlder
	d.item(held, "public")
	d.note(d.item(place(protocol.Quarantined, "1"), "d"), `{"taint":"failed","detail":"ended with 1"}`)
	d.file(".airlockfs/replaced/1800000000000000000~1/e")
	return d
}

// place is a place whose owner is a process that the tests call alive.
func place(state protocol.State, key string) protocol.Place {
	return protocol.Place{State: state, Folder: key, Owner: protocol.Process{Host: "aa", Boot: "bb", PID: 7, Start: 8, Session: 9}}
}

func control(path string) string { return backing.Control + "/" + path }

func (d disk) path(path string) string { return filepath.Join(d.dir, path) }

// file makes a file and its folders, which are private.
func (d disk) file(path string) string {
	require.NoError(d.t, os.MkdirAll(filepath.Dir(d.path(path)), 0o700))
	require.NoError(d.t, os.WriteFile(d.path(path), []byte("bytes"), 0o600))
	return path
}

func (d disk) folder(path string) string {
	require.NoError(d.t, os.MkdirAll(d.path(path), 0o700))
	return path
}

// item makes a file in a place and gives its path.
func (d disk) item(p protocol.Place, name string) string { return d.file(dirOf(p) + "/" + name) }

func dirOf(p protocol.Place) string { return control(p.State.Area() + "/" + p.Dir()) }

// link makes a symlink below the control folder.
func (d disk) link(target, name string) string {
	require.NoError(d.t, os.Symlink(target, d.path(control(name))))
	return control(name)
}

// mark makes a record of a mark of a process; a name that is there is what it is about.
func (d disk) mark(pid int, name string) string {
	r := protocol.MarkRecord{Line: protocol.Line{Process: place(protocol.Claimed, "1").Owner}, Folder: "1", Name: name, Since: time.Unix(1, 0)}
	r.Line.Process.PID = pid
	s, err := backing.Open(d.dir, backing.Options{Look: true})
	require.NoError(d.t, err)
	defer s.Close()
	if st, err := s.Stat(backing.Object{Folder: "in", Name: name}); err == nil {
		r.Ino, r.Born = st.Ino, st.Born
	}
	return d.link(r.String(), "marks/1")
}

func (d disk) note(path, text string) string {
	require.NoError(d.t, unix.Setxattr(d.path(path), "user.airlockfs.note", []byte(text), 0))
	return path
}

func (d disk) remove(path string) { require.NoError(d.t, os.RemoveAll(d.path(path))) }

func (d disk) chmod(path string, mode os.FileMode) string {
	require.NoError(d.t, os.Chmod(d.path(path), mode))
	return path
}

func (d disk) chown(path string) string {
	require.NoError(d.t, os.Chown(d.path(path), 12345, -1))
	return path
}

func (d disk) hardlink(from, to string) string {
	require.NoError(d.t, os.MkdirAll(filepath.Dir(d.path(to)), 0o700))
	require.NoError(d.t, os.Link(d.path(from), d.path(to)))
	return to
}

func (d disk) fifo(path string) string {
	require.NoError(d.t, os.MkdirAll(filepath.Dir(d.path(path)), 0o700))
	require.NoError(d.t, unix.Mkfifo(d.path(path), 0o600))
	return path
}

// facts: the process 7 lives, all others have ended; those of the boot "old" are of an earlier one.
func facts(served bool) Facts {
	return Facts{
		Served: func(backing.ID) bool { return served },
		Here:   func(p protocol.Process) bool { return p.Boot != "old" },
		Alive:  func(p protocol.Process) bool { return p.PID == 7 },
	}
}

func (d disk) check(served bool) []report.Finding {
	s, err := backing.Open(d.dir, backing.Options{Areas: protocol.Areas(), Look: true})
	require.NoError(d.t, err)
	defer s.Close()
	findings, err := Run(s, facts(served))
	require.NoError(d.t, err)
	return findings
}
