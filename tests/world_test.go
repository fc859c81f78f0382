package tests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// world is all that there is, by path: what is hidden as status lists it, then what everybody sees, then what was
// written over and is kept.
type world map[string][]fate

// with is the world after a change: what the change says of a path is all that is there now.
func (w world) with(change world) world {
	next := maps.Clone(w)
	for path, all := range change {
		if next[path] = all; len(all) == 0 {
			delete(next, path)
		}
	}
	return next
}

// world is what a stranger and status find.
func (m *Mount) world() world {
	m.t.Helper()
	found := world{}
	for path, all := range m.Status() {
		for _, i := range all {
			found[path] = append(found[path], fate{i.State, content(m.t, m.Below(i.Bytes)), i.Attempts, i.Owner != nil})
		}
	}
	for _, path := range strings.Fields(m.Must(`find . -mindepth 1 -type f | cut -c3-`)) {
		f := fate{state: "published", content: content(m.t, m.Below(path))}
		f.attempts, _ = strconv.Atoi(m.attempts(path))
		found[path] = append(found[path], f)
	}
	for path, f := range m.replaced() {
		found[path] = append(found[path], f...)
	}
	return found
}

// replaced are the versions that are kept though they were written over, in the order in which they will go.
func (m *Mount) replaced() world {
	m.t.Helper()
	kept := world{}
	files, err := filepath.Glob(m.Below(".airlockfs/replaced/*/*"))
	require.NoError(m.t, err)
	slices.Sort(files)
	for _, path := range files {
		_, key, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "~")
		folder, err := os.Readlink(m.Below(".airlockfs/folders/" + key))
		if key != "0" {
			require.NoError(m.t, err)
		}
		name := filepath.Join(folder, filepath.Base(path))
		kept[name] = append(kept[name], fate{state: "replaced", content: content(m.t, path)})
	}
	return kept
}
