package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// livingMount is a mount as its control files tell of it.
type livingMount struct {
	root string // absolute, without symlinks
	path string // what was asked for, relative to root; "." for root itself
}

// findMount finds the mount that a path is on. The path itself need not be visible.
func findMount(path string) (livingMount, error) {
	mounts, err := readMounts()
	if err != nil {
		return livingMount{}, err
	}
	resolved, err := resolve(path)
	if err != nil {
		return livingMount{}, err
	}
	m := mountOf(mounts, resolved)
	if m.kind != filesystem {
		if whole, err := filepath.EvalSymlinks(resolved); err == nil { // a symlink to a mount
			resolved, m = whole, mountOf(mounts, whole)
		}
	}
	if m.kind != filesystem {
		return livingMount{}, failf(exitNoMount, "%s is not on an airlockfs mount%s", show.Name(path), mountedElsewhere(mounts, resolved))
	}
	relative, err := filepath.Rel(m.point, resolved)
	return livingMount{m.point, relative}, err
}

// mountedElsewhere says where a backing is mounted, for those who name the one for the other.
func mountedElsewhere(mounts []mountLine, path string) string {
	for _, m := range mounts {
		if m.kind == filesystem && m.source == path {
			return ": it is the backing of " + show.Name(m.point) + ", use that"
		}
	}
	return ": findmnt -t " + filesystem + " lists those there are"
}

// mustSee refuses a name under which the caller sees nothing, so that a misspelt one does not look healthy. asked is how
// he wrote it.
func (m livingMount) mustSee(asked string) error {
	_, err := os.Lstat(filepath.Join(m.root, m.path))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOTCONN):
		return daemonDied(m.root)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return failf(exitProblems, "you see nothing under the name %s: airlockfs why tells more", show.Name(asked))
	}
	return failf(exitProblems, "%s can't be looked at: %w", show.Name(asked), plain(err))
}

// read reads one of the mount's control files.
func (m livingMount) read(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(m.root, backing.Control, name))
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return daemonDied(m.root)
	case err != nil:
		return failf(exitNoMount, "the mount %s does not tell its %s: %w", show.Name(m.root), name, plain(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the mount %s tells its %s in another form than this version knows: %w", show.Name(m.root), name, err)
	}
	return nil
}

func daemonDied(root string) error {
	return failf(exitNoMount, "the daemon of the mount %s died: mount again to recover the files, or airlockfs umount it (%w)", show.Name(root), syscall.ENOTCONN)
}

func (m livingMount) facts() (f report.Mount, err error) { return f, m.read("mount", &f) }

func (m livingMount) status() (s report.Status, err error) { return s, m.read("status", &s) }

func (m livingMount) locks() (l report.Locks, err error) { return l, m.read("locks", &l) }

func (m livingMount) events() (e []report.Event, err error) { return e, m.read("events", &e) }
