package protocol

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// runTranscript plays a file of blocks that are separated by blank lines:
//
//	command arguments
//	more input
//	----
//	result
//
// Lines that begin with # are comments. do gets the command line and the input lines, and gives the result; its blank
// lines are dropped. With -update the results in the file are replaced by what do gives.
func runTranscript(t *testing.T, file string, do func(command string, input []string) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var got []string
	for block := range strings.SplitSeq(strings.Trim(string(data), "\n"), "\n\n") {
		block = strings.Trim(block, "\n")
		now := runBlock(block, do)
		if got = append(got, now); !*update {
			assert.Equal(t, block, now, "if this is what you want, run the test with -update and read the diff")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(got, "\n\n")+"\n"), 0o644))
	}
}

// runBlock gives the block with the result that it has now.
func runBlock(block string, do func(command string, input []string) string) string {
	head, _, _ := strings.Cut(block+"\n", "\n----\n")
	head = strings.TrimSuffix(head, "\n")
	var lines []string
	for line := range strings.SplitSeq(head, "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return head
	}
	result := do(lines[0], lines[1:])
	for strings.Contains(result, "\n\n") {
		result = strings.ReplaceAll(result, "\n\n", "\n")
	}
	return strings.TrimRight(head+"\n----\n"+strings.Trim(result, "\n"), "\n")
}
