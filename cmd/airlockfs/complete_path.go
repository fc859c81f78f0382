package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// completeItems offers the paths of items that a command is for; outside of a mount, the mounts there are. They need not
// be visible, so the shell can't.
func completeItems(wanted ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		dir, _ := filepath.Split(word)
		m, err := findMount(dir)
		if err != nil {
			points, _ := completeMountpoints(cmd, args, word)
			return withSlash(points), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return offered(pathsIn(m, dir, wanted), word, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAnyPath offers the paths of all items, and beside them what can be seen.
func completeAnyPath(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	items, directive := completeItems()(cmd, args, word)
	dir, _ := filepath.Split(word)
	if m, err := findMount(dir); err == nil {
		seen, _ := os.ReadDir(filepath.Join(m.root, m.path)) // a shell that completes has no use for an error
		for _, e := range seen {
			name := dir + e.Name()
			if e.IsDir() {
				name += "/"
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			items = append(items, offered([]string{name}, word, args)...)
		}
	}
	slices.Sort(items)
	return slices.Compact(items), directive
}

// pathsIn are the items below a folder of a mount in some states (none: in all), as they are typed below dir.
func pathsIn(m livingMount, dir string, wanted []string) []string {
	status, _ := m.status() // nor for this one
	var paths []string
	for _, i := range status.Items {
		relative, err := filepath.Rel(m.path, i.Path)
		if err == nil && !strings.HasPrefix(relative, "../") && i.Raw == nil && isWanted(i, wanted) {
			paths = append(paths, dir+relative)
		}
	}
	return paths
}

func isWanted(i report.Item, states []string) bool {
	return len(states) == 0 || slices.Contains(states, i.State)
}

// offered are the paths that the word begins, and that were not typed yet. Names that a shell would not take as they are
// are left out: the scripts that complete do not quote, and a file's name must not become a command.
func offered(paths []string, word string, typed []string) []string {
	paths = slices.DeleteFunc(paths, func(p string) bool {
		return !strings.HasPrefix(p, word) || show.Argument(p) != p || slices.Contains(typed, p)
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}

func withSlash(points []string) []string {
	for n := range points {
		points[n] += "/"
	}
	return offered(points, "", nil)
}
