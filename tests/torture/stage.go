package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/actor"
)

// diskSize bounds what a run may fill, in bytes as mount(8) takes them.
const diskSize = "size=700m"

// stage is where a run takes place.
type stage struct {
	base    string
	disk    string // a small filesystem of its own, which can be filled
	backing string
	root    string // what the actors know: the mountpoint, or a folder
	side    string // for actors, outside of the mount
	logs    string
	self    string
	onDisk  bool
}

// folders of the mount. Their rules are in daemon.go.
var folders = []string{"u", "out", "hot", "dirs", "exit", "ren", "work", "done", "locks"}

func newStage(o options) (*stage, error) {
	base, err := os.MkdirTemp(o.scratch, "airlockfs-torture-")
	if err != nil {
		return nil, err
	}
	s := &stage{base: base, disk: filepath.Join(base, "disk"), root: filepath.Join(base, "mnt"), side: filepath.Join(base, "side"), logs: filepath.Join(base, "logs")}
	s.backing = filepath.Join(s.disk, "backing")
	if o.on == onBare {
		s.backing = s.root
	}
	if s.self, err = os.Executable(); err != nil {
		return s, err
	}
	return s, s.build(o)
}

func (s *stage) build(o options) error {
	for _, dir := range []string{s.disk, s.root, s.side, s.logs} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if o.on != onBare {
		if err := unix.Mount("airlockfs-torture", s.disk, "tmpfs", 0, diskSize); err != nil {
			return err
		}
		s.onDisk = true
	}
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(s.backing, "q", f), 0o755); err != nil {
			return err
		}
	}
	return actor.Unpack(s.side, s.self)
}

// strike removes everything.
func (s *stage) strike() error {
	var err error
	if s.onDisk {
		err = unix.Unmount(s.disk, 0)
	}
	return errors.Join(err, os.RemoveAll(s.base))
}

// fill takes all room there is on the disk; the result gives it back.
func (s *stage) fill() (undo func(), err error) {
	file := filepath.Join(s.disk, "ballast")
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	undo = func() {
		_ = f.Close()
		_ = os.Remove(file)
	}
	for size := int64(64 << 20); size >= 4096; {
		at, _ := f.Seek(0, 2)
		if unix.Fallocate(int(f.Fd()), 0, at, size) != nil {
			size /= 2
		}
	}
	return undo, nil
}
