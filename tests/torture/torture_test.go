package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain is also what actors are started as.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && subcommands[os.Args[1]] != nil {
		main()
	}
	os.Exit(m.Run())
}

// A tester that can't fail tests nothing: a folder hands over torn files, to two at a time.
func TestABareFolderIsConvicted(t *testing.T) {
	var out bytes.Buffer
	code, err := torture(t.Context(), options{time: 6 * time.Second, seed: 1, on: onBare, scratch: t.TempDir(), actors: 14}, &out)
	require.NoError(t, err)
	assert.Equal(t, 1, code, "%s", &out)
	for _, wrong := range []string{"torn", "taken by two", "not linearizable"} {
		assert.Regexp(t, `(?m)^ +[1-9]\d*  `+wrong+`$`, out.String())
	}
	assert.Contains(t, out.String(), "\nTORN: ", "with a replay")
	assert.NotContains(t, out.String(), "an actor is broken")
	assert.Contains(t, out.String(), "again: make torture SECONDS=6 SEED=1")
}
