package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completed is what a shell is offered after the words.
func completed(t *testing.T, dir string, words ...string) string {
	cmd := command(t, append([]string{"__complete"}, words...)...)
	cmd.Dir = dir
	out, _, code := finish(t, cmd)
	require.Zero(t, code)
	offers, _, _ := strings.Cut(out, ":")
	return strings.Join(strings.Fields(offers), " ")
}

func TestPathsAreCompletedByState(t *testing.T) {
	_, at := mounted(t, "--rule", "held/**=queue,publish=rename")
	shell(t, at, `mkdir in held; echo > in/public; echo > in/taken; echo > held/a
		for f in in/broken 'in/$(touch x)' 'in/a b' in/-x in/~ "in/new
line"; do sh -c 'exec 3>"$1"; kill -9 $$' sh "$f" || true; done`)
	f, err := os.Open(filepath.Join(at, "in/taken"))
	require.NoError(t, err)
	defer f.Close()
	for _, c := range []struct{ dir, command, word, want string }{
		{"/", "why", at + "/in/", "@in/-x @in/broken @in/public @in/taken @in/~"},
		{"/", "why", at + "/h", "@held/ @held/a"},
		{at, "why", "in/b", "in/broken"},
		{at, "why", "", "held/ held/a in/ in/-x in/broken in/taken in/~"},
		{filepath.Join(at, "in"), "why", "../h", "../held/ ../held/a"},
		{filepath.Join(at, "in"), "why", "t", "taken"},
		{"/", "why", at + "/none", ""},
		{at, "release", "", "in/taken"},
		{at, "requeue", "in/", "in/-x in/broken in/~"},
		{at, "discard", "in/b", "in/broken"},
		{at, "publish", "", "held/a"},
		{"/", "publish", at + "/in/", ""},
		{"/", "why", at[:len(at)-1], "@"},
	} {
		want := strings.ReplaceAll(c.want, "@", at+"/")
		assert.Equal(t, want, completed(t, c.dir, c.command, c.word), "%s %s", c.command, c.word)
	}
	assert.Equal(t, "in/public in/taken", completed(t, at, "why", "in/broken", "in/-x", "in/~", "in/"), "what was typed is not offered again")
	assert.NoFileExists(t, filepath.Join(at, "x"))
}
