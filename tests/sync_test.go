package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowDisk is the strace(1) a daemon runs under whose syncs of folders take 100 ms, and which records what it does to names
// and what it makes durable.
func slowDisk(t *testing.T) (under []string, record string) {
	record = filepath.Join(scratch(t), "calls")
	return []string{"strace", "-f", "--seccomp-bpf", "-qq", "-y", "-o", record, "-e", "trace=fsync,fdatasync,renameat2,unlinkat,mkdirat",
		"-e", "inject=fsync:delay_enter=100000", "--"}, record
}

// callsOf are the calls recorded so far, each as its name and the path of the descriptor or the names that it has.
func callsOf(t *testing.T, record string) (calls []string) {
	t.Helper()
	b, err := os.ReadFile(record)
	require.NoError(t, err)
	line := regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	for _, text := range strings.Split(string(b), "\n") {
		if m := line.FindStringSubmatch(text); m != nil {
			calls = append(calls, m[1]+" "+m[2])
		}
	}
	return calls
}

// inOrder tells whether there are calls that match the patterns one after the other.
func inOrder(calls []string, patterns ...string) bool {
	for _, call := range calls {
		if len(patterns) > 0 && regexp.MustCompile(patterns[0]).MatchString(call) {
			patterns = patterns[1:]
		}
	}
	return len(patterns) == 0
}

func TestI4_SyncFullMakesBytesAndNamesDurable(t *testing.T) {
	t.Parallel()
	under, record := slowDisk(t)
	m := mountUnder(t, under, "--sync=full", "--rule", "archive/**=archive")
	root, place := `fsync \d+<`+regexp.QuoteMeta(m.Backing)+`>`, `fsync \d+<`+regexp.QuoteMeta(m.Backing)+`/.airlockfs/claimed/[^/>]+>`
	seen := len(callsOf(t, record))
	for _, scene := range [][]string{
		{`mkdir archive`, `^mkdirat .*"archive"`, root},
		{`echo x > closed; stat closed`, `^fdatasync `, `^renameat2 .*"closed"`, root},
		{`echo x > r.tmp; mv r.tmp renamed`, `^fdatasync `, `^renameat2 .*"renamed"`, root},
		{`echo x > l.tmp; ln l.tmp linked`, `^fdatasync `, `^renameat2 .*"linked"`, root},
		{`echo x > work; x=$(cat work); rm work`, `^renameat2 .*claimed.*"work"`, `^unlinkat .*"work"`, place},
		{`echo x > done; x=$(cat done); mv done archive/1`, `^renameat2 .*claimed.*"done"`, `^renameat2 .*"1"`, root[:len(root)-1] + `/archive>`},
	} {
		m.Must("%s", scene[0])
		all := callsOf(t, record)
		assert.True(t, inOrder(all[seen:], scene[1:]...), "not in this order: %q\n%s", scene, strings.Join(all[seen:], "\n"))
		seen = len(all)
	}

	m.Must(`for n in {1..16}; do exec {fd[n]}> f$n; echo x >&${fd[n]}; done
		for n in {1..16}; do exec {fd[n]}>&-; done; for n in {1..16}; do stat f$n; done`)
	all := strings.Join(callsOf(t, record)[seen:], "\n")
	assert.Equal(t, 16, len(regexp.MustCompile(`(?m)^fdatasync `).FindAllString(all, -1)), all)
	syncs := len(regexp.MustCompile(`(?m)^`+root).FindAllString(all, -1))
	assert.Greater(t, syncs, 0)
	assert.LessOrEqual(t, syncs, 4, "those who close at the same time share the sync of the folder")
}
