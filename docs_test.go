package airlockfs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

// untested are the guarantees that no end-to-end test carries the number of, with the reason.
var untested = map[string]string{}

func TestEveryGuaranteeHasATest(t *testing.T) {
	promised := findAll(`(?m)^- \*\*(I\d+) `, read(t, "docs/protocol.md"))
	require.Equal(t, []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8"}, promised, "the guarantees of docs/protocol.md")
	tests := ""
	for file := range parse(t, "tests") {
		tests += read(t, file)
	}
	for _, i := range promised {
		if untested[i] == "" {
			assert.Contains(t, tests, "\nfunc Test"+i+"_", "docs/protocol.md promises %s, and no test breaks when it does not hold", i)
		}
	}
}

func TestEveryReasonIsExplained(t *testing.T) {
	text, errnos := read(t, "docs/protocol.md"), errnoOf(t)
	for n, name := range reasonNames(t) {
		reason := protocol.Reason(n + 1)
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(reason.String()) + " \\| `([A-Z]+)` \\| .+ \\|$").FindStringSubmatch(text)
		if assert.NotNil(t, row, "docs/protocol.md has no row for %q", reason) {
			assert.Equal(t, errnos[name], row[1], "the errno for %q", reason)
		}
	}
}

// reasonNames are the constants of type protocol.Reason, in their order.
func reasonNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, d := range parseFile(t, "protocol/decision.go").Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		first := g.Specs[0].(*ast.ValueSpec)
		if typ, ok := first.Type.(*ast.Ident); !ok || typ.Name != "Reason" {
			continue
		}
		for _, s := range g.Specs {
			names = append(names, s.(*ast.ValueSpec).Names[0].Name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// errnoOf is the table of fusefs/errno.go: reason to errno, by name.
func errnoOf(t *testing.T) map[string]string {
	t.Helper()
	table := map[string]string{}
	ast.Inspect(parseFile(t, "fusefs/errno.go"), func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			reason, isReason := kv.Key.(*ast.SelectorExpr)
			errno, isErrno := kv.Value.(*ast.SelectorExpr)
			if isReason && isErrno {
				table[reason.Sel.Name] = errno.Sel.Name
			}
		}
		return true
	})
	return table
}

func TestEveryNameOfTheTablesIsListed(t *testing.T) {
	names := protocol.DefaultNames()
	words := strings.Fields(strings.NewReplacer("`", " ", `\|`, "|").Replace(read(t, "docs/protocol.md")))
	for _, pattern := range slices.Concat(names.Temp, names.TempExclusive, names.Lock, names.Log, names.Plain, names.Database, names.Marker) {
		assert.Contains(t, words, pattern, "docs/protocol.md leaves out a pattern of the name tables")
	}
}

func TestEveryWordOfEventsIsListed(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "docs/protocol.md"), "\nWhat an event tells is one word.")
	text, _, _ = strings.Cut(text, "\n\n")
	said := []string{protocol.Parked.String(), protocol.Abandoned.String(), protocol.Claimed.String(), protocol.Quarantined.String()}
	for _, file := range []string{"fusefs/event.go", "fusefs/refusal.go", "fusefs/orderly.go", "cmd/airlockfs/feed.go"} {
		said = append(said, findAll(`(?:return |What: |OpOrder\w+: )"([a-z]+(?:ed|ld|en)|warning)"`, read(t, file))...)
	}
	assert.Subset(t, findAll("`([a-z]+)`", text), said, "docs/protocol.md leaves out a word of events")
	assert.Subset(t, said, findAll("`([a-z]+)`", text), "nothing is called so")
}

func TestEveryAreaIsInTheFormat(t *testing.T) {
	format := read(t, "docs/format.md")
	for _, area := range protocol.Areas() {
		assert.Contains(t, format, "\n    "+area+"/", "docs/format.md leaves out an area")
	}
}

// flag is a long option, as it is written in help texts and documents.
var flag = regexp.MustCompile("(?:^|[\\s\\[(`'|=])(--[a-z][a-z-]*[a-z])")

// othersFlags are in the documents, and belong to other programs.
var othersFlags = map[string]string{
	"--inplace": "rsync", "--partial": "rsync", "--partial-dir": "rsync", "--delay-updates": "rsync", "--preallocate": "rsync", "--sparse": "rsync",
	"--remove-source-files": "rsync", "--now": "systemctl", "--only-values": "getfattr",
}

func TestCommandsFlagsAndDocumentsAgree(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "airlockfs")
	out, err := exec.Command("go", "build", "-o", bin, "./cmd/airlockfs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	mount := flagsOf(help(t, bin, "mount"))
	known, readme := maps.Clone(mount), read(t, "README.md")
	for _, command := range findAll(`(?m)^  ([a-z]+) `, help(t, bin)) {
		if command != "airlockfs" && command != "help" {
			assert.Regexp(t, "(?m)^\\|.*`"+command+"[` ].*\\|$", readme, "README.md has no row for a command")
		}
		maps.Copy(known, flagsOf(help(t, bin, command)))
	}
	documented := map[string]bool{}
	for _, file := range append([]string{"README.md"}, glob(t, "docs/*.md")...) {
		maps.Copy(documented, flagsOf(read(t, file)))
	}
	for f := range mount {
		assert.True(t, documented[f] || f == "--help", "airlockfs mount knows %s, and no document does", f)
	}
	for f := range documented {
		assert.True(t, known[f] || othersFlags[f] != "", "the documents speak of %s, and no command knows it", f)
	}
}

func flagsOf(text string) map[string]bool {
	flags := map[string]bool{}
	for _, m := range flag.FindAllStringSubmatch(text, -1) {
		flags[m[1]] = true
	}
	return flags
}

// help is what a command says of itself.
func help(t *testing.T, bin string, command ...string) string {
	t.Helper()
	out, err := exec.Command(bin, append(command, "--help")...).CombinedOutput()
	require.NoError(t, err, "%v --help: %s", command, out)
	return string(out)
}

// What is linked to is there.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	for _, file := range append(glob(t, "*.md"), glob(t, "docs/*.md")...) {
		for _, target := range findAll(`\]\(([^)#:]+)(?:#[^)]*)?\)`, read(t, file)) {
			assert.FileExists(t, filepath.Join(filepath.Dir(file), target), "%s links to it", file)
		}
	}
}

func findAll(pattern, text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func parseFile(t *testing.T, path string) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	require.NoError(t, err)
	return tree
}
