// Package airlockfs holds the project's conventions, as tests: each says why in its failure.
package airlockfs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/airlockfs/airlockfs/"

// forbidden are the imports that would bend the structure: package → what it must not import → why.
var forbidden = map[string]map[string]string{
	"protocol": {
		"os": "the rules do no I/O", "sync": "the rules know no concurrency", "syscall": "an errno is chosen in fusefs/errno.go",
		"golang.org/x/sys/unix": "an errno is chosen in fusefs/errno.go", "math/rand": "the same event must give the same decision",
		"log/slog":         "refusals are values; whoever carries them out logs them",
		module + "backing": "the rules know no disk", module + "fusefs": "the rules know no kernel",
		"github.com/hanwen/go-fuse/v2/fuse": "the rules know no kernel",
	},
	"backing": {
		module + "protocol": "the disk knows no rule", module + "fusefs": "the disk knows no kernel",
		"github.com/hanwen/go-fuse/v2/fuse": "the disk knows no kernel",
	},
	"fusefs/caller":  {module + "backing": "who asks has nothing to do with the disk", module + "fusefs": "arrows point down"},
	"fusefs/channel": {module + "protocol": "the connection carries requests, it decides nothing", module + "backing": "the connection knows no disk"},
	"cmd/airlockfs/show": {
		module + "protocol": "it shows what it is given", module + "backing": "it shows what it is given", module + "fusefs": "it shows what it is given",
		"github.com/spf13/cobra": "the commands know what is to be shown",
	},
	"tests": {module + "protocol": "end-to-end tests see what users see", module + "backing": "end-to-end tests see what users see", module + "fusefs": "end-to-end tests see what users see"},
}

func TestImportsPointDown(t *testing.T) {
	for pkg, rules := range forbidden {
		for file, tree := range parse(t, pkg) {
			if pkg != "tests" && strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, i := range tree.Imports {
				path := strings.Trim(i.Path.Value, `"`)
				assert.NotContains(t, rules, path, "%s imports %s: %s", file, path, rules[path])
			}
		}
	}
}

// Deciding must not depend on when or in which order it is done.
func TestProtocolReadsNoClock(t *testing.T) {
	for file, tree := range parse(t, "protocol") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, call := range selectors(tree) {
			assert.NotContains(t, []string{"time.Now", "time.Since", "time.After", "time.Sleep", "time.AfterFunc"}, call, "%s: time is a field of the event", file)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			_, goes := n.(*ast.GoStmt)
			assert.False(t, goes, "%s starts a goroutine", file)
			return true
		})
	}
}

// sleepers may wait for a time to pass, for the reason given.
var sleepers = map[string]string{
	"fusefs/fs_file.go":              "the build tag slowrelease delays RELEASE on purpose",
	"fusefs/clock_test.go":           "the time of its tests is not that of the world (testing/synctest)",
	"backing/failpoint/failpoint.go": "a slow disk is one of the faults that tests ask for",
}

func TestNobodySleeps(t *testing.T) {
	for file, tree := range parseAll(t) {
		if sleepers[file] != "" {
			continue
		}
		for _, call := range selectors(tree) {
			assert.NotContains(t, []string{"time.Sleep", "time.Tick"}, call, "%s: wait for a state, not for a time", file)
		}
	}
}

// The disk is reached through package backing only, by (folder, name) below one descriptor.
func TestOneDoorToTheDisk(t *testing.T) {
	for file, tree := range parse(t, "fusefs") {
		if strings.HasSuffix(file, "_test.go") || file == "fusefs/observer.go" || file == "fusefs/mount.go" {
			continue // an observer's program file and the daemon's pid are not on the backing
		}
		for _, call := range selectors(tree) {
			bad := strings.HasPrefix(call, "os.") || strings.HasPrefix(call, "filepath.")
			assert.False(t, bad, "%s uses %s: go through package backing", file, call)
		}
	}
}

const (
	longestFunction   = 60
	longestTranslator = 16
	longestFile       = 350
)

func TestSizes(t *testing.T) {
	fset := token.NewFileSet()
	for _, file := range goFiles(t) {
		tree, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		require.NoError(t, err)
		lines := fset.Position(tree.End()).Line
		assert.LessOrEqual(t, lines, longestFile, "%s is too long: one noun per file", file)
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(file, "_test.go") {
				continue
			}
			n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1
			assert.LessOrEqual(t, n, longestFunction, "%s: %s has %d lines", file, f.Name.Name, n)
			if strings.HasPrefix(file, "fusefs/fs") {
				assert.LessOrEqual(t, n, longestTranslator+6, "%s: %s translates, so it must be short", file, f.Name.Name)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	docs := map[string]bool{}
	for file, tree := range parseAll(t) {
		dir := filepath.Dir(file)
		docs[dir] = docs[dir] || tree.Doc != nil
	}
	for dir, ok := range docs {
		assert.True(t, ok, "package %s has no package comment", dir)
	}
}

// What is not finished is not in the tree; a test that can't run must fail.
func TestNothingIsLeftForLater(t *testing.T) {
	later := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	for file, tree := range parseAll(t) {
		for _, group := range tree.Comments {
			assert.False(t, later.MatchString(group.Text()) && file != "policy_test.go", "%s: %s", file, group.Text())
		}
		for _, call := range selectors(tree) {
			assert.NotRegexp(t, `^[tb]\.Skip`, call, "%s skips: fail, and say what is missing", file)
		}
	}
}

// A name that ends in Locked is called with the lock held, and does not take it.
func TestLockedFunctionsTakeNoLock(t *testing.T) {
	for file, tree := range parse(t, "fusefs") {
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasSuffix(f.Name.Name, "Locked") {
				continue
			}
			for _, stmt := range f.Body.List {
				ast.Inspect(stmt, func(n ast.Node) bool {
					if _, deferred := n.(*ast.FuncLit); deferred {
						return false
					}
					if s, ok := n.(*ast.SelectorExpr); ok {
						x, _ := s.X.(*ast.SelectorExpr)
						bad := s.Sel.Name == "Lock" && x != nil && x.Sel.Name == "mu"
						assert.False(t, bad, "%s: %s takes a lock", file, f.Name.Name)
					}
					return true
				})
			}
		}
	}
}

// selectors are all uses of the form a.B in a file.
func selectors(tree *ast.File) []string {
	var all []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				all = append(all, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return all
}

func goFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

func parseAll(t *testing.T) map[string]*ast.File {
	t.Helper()
	trees := map[string]*ast.File{}
	for _, file := range goFiles(t) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		trees[file] = tree
	}
	return trees
}

func parse(t *testing.T, pkg string) map[string]*ast.File {
	t.Helper()
	trees := map[string]*ast.File{}
	err := filepath.WalkDir(pkg, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && path != pkg {
			return errOrSkip(err)
		}
		if strings.HasSuffix(path, ".go") {
			trees[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		}
		return err
	})
	require.NoError(t, err)
	return trees
}

func errOrSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}
