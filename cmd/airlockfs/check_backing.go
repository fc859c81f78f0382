package main

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// checkedBacking is a backing to be checked. path leads to it even where its own mount covers it.
type checkedBacking struct {
	name, path string
	served     bool
	tree       int // descriptor of the uncovered tree, -1 if none is needed
}

func (b checkedBacking) close() {
	if b.tree >= 0 {
		unix.Close(b.tree)
	}
}

// findBacking takes a backing, or the mount it is served by.
func findBacking(path string) (checkedBacking, error) {
	m, err := findMount(path)
	if err != nil {
		return checkedBacking{name: path, path: path, tree: -1}, nil
	}
	facts, err := m.facts()
	if err != nil {
		return checkedBacking{}, err
	}
	b := checkedBacking{name: facts.Backing, path: facts.Backing, served: true, tree: -1}
	if again, err := findMount(facts.Backing); err == nil && again.root == m.root {
		return b.uncovered()
	}
	return b, nil
}

// uncovered gets at a backing that its mount covers: open_tree(2) copies the mount below, without what is mounted on it.
func (b checkedBacking) uncovered() (checkedBacking, error) {
	parent, name := filepath.Split(b.path)
	tree, err := unix.OpenTree(unix.AT_FDCWD, parent, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return b, fmt.Errorf("the mount covers its backing %s, and only root can look below it: unmount first (%w)", show.Name(b.name), err)
	}
	b.tree, b.path = tree, fmt.Sprintf("/proc/self/fd/%d/%s", tree, name)
	return b, nil
}
