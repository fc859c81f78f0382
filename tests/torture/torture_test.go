package main

import (
	"bytes"
	"os"
	"regexp"
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

// A tester that can't fail tests nothing: a folder hands over torn files, to two at a time. On a busy machine it may take
// longer until that has happened.
func TestABareFolderIsConvicted(t *testing.T) {
	var out string
	for _, seconds := range []time.Duration{6, 12, 24} {
		if out = convict(t, seconds*time.Second); missed(out) == "" {
			break
		}
	}
	assert.Empty(t, missed(out), out)
	assert.Contains(t, out, "\nTORN: ", "with a replay")
	assert.NotContains(t, out, "an actor is broken")
	assert.Regexp(t, `again: make torture SECONDS=\d+ SEED=1`, out)
}

// convict is what a run on a bare folder says.
func convict(t *testing.T, long time.Duration) string {
	var out bytes.Buffer
	code, err := torture(t.Context(), options{time: long, seed: 1, on: onBare, scratch: t.TempDir(), actors: 14}, &out)
	require.NoError(t, err)
	require.Equal(t, 1, code, "%s", &out)
	return out.String()
}

// missed is a kind of fault that was not found.
func missed(out string) string {
	for _, wrong := range []string{"torn", "taken by two", "not linearizable"} {
		if !regexp.MustCompile(`(?m)^ +[1-9]\d*  ` + wrong + `$`).MatchString(out) {
			return wrong
		}
	}
	return ""
}
