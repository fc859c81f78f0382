package airlockfs

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// complete are the documents that leave out no test of these files: document → files.
var complete = map[string]string{
	"docs/bystanders.md": "tests/bystanders_test.go",
	"docs/outside.md":    "tests/outside_*test.go",
	"docs/failures.md":   "tests/disk_test.go",
	"docs/programs.md":   "tests/zoo_*_test.go",
	"docs/security.md":   "tests/attack_*_test.go",
	"docs/servers.md":    "tests/servers/*_test.go",
}

func TestDocumentsNameTheirTests(t *testing.T) {
	var all []string
	for _, file := range goFiles(t) {
		all = append(all, testsIn(t, file)...)
	}
	for _, file := range slices.Concat(glob(t, "*.md"), glob(t, "docs/*.md"), glob(t, "tests/*.md")) {
		text := read(t, file)
		named := findAll(`\b(Test[A-Z]\w+)`, text)
		assert.Subset(t, all, named, "%s names tests that are not there", file)
		for _, row := range rowsWithoutTest(text) {
			assert.Fail(t, "a row of "+file+" names no test", row)
		}
		for _, source := range glob(t, complete[file]) {
			assert.Subset(t, named, testsIn(t, source), "%s leaves out tests of %s", file, source)
		}
	}
	for file, sources := range complete {
		assert.FileExists(t, file)
		assert.NotEmpty(t, glob(t, sources), "%s leaves out no test of %s", file, sources)
	}
}

// rowsWithoutTest are rows of tables whose last column is "test", that name none there: "=" is the one of the row above.
func rowsWithoutTest(text string) (rows []string) {
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		last := line[strings.LastIndex(strings.TrimSuffix(line, "|"), "|")+1:]
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case strings.HasSuffix(line, "| test |"):
			inTable = true
		case inTable && strings.Trim(last, "-|") != "" && last != " = |" && !strings.Contains(last, "`Test"):
			rows = append(rows, line)
		}
	}
	return rows
}

// testsIn are the tests of a file. TestMain is none.
func testsIn(t *testing.T, file string) []string {
	if !strings.HasSuffix(file, "_test.go") {
		return nil
	}
	return slices.DeleteFunc(findAll(`(?m)^func (Test\w+)\(`, read(t, file)), func(name string) bool { return name == "TestMain" })
}
