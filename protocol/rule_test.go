package protocol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWarningsCanNotBeChanged(t *testing.T) {
	r, err := ParseRule("a=queue,gate=set")
	require.NoError(t, err)
	r.Warnings()[0] = "changed"
	assert.Equal(t, []string{`rule "a=queue,gate=set": gate=set has no effect yet`}, r.Warnings())
	assert.Equal(t, "a=queue,gate=set", r.String())
}

// An error folder is one by its whole name, in any place of the path, and only if the rule does not decide.
func TestOutcomeOfErrorFolders(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "/a/**=archive", "/b/**=plain,outcome=done", "/c/**=queue", "/error/**=plain", "/lk/**=lock")
	for p, want := range map[string]Outcome{"a/x": OutcomeDone, "a/error/x": OutcomeFailed, "a/error/y/x": OutcomeFailed,
		"a/errors/x": OutcomeDone, "a/error": OutcomeDone, "b/error/x": OutcomeDone, "c/error/x": OutcomeDone, "error/x": OutcomeFailed,
		"lk/error/x": OutcomeDone} {
		assert.Equal(t, want, rules.At(split(p)).Outcome, p)
	}
}

// FuzzParseRule: what is accepted is sound, what is refused is explained.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{"in/**=queue", "in/**=queue,publish=quiet=1s", "a={b,c}=x=plain,outcome=failed", `\=[=]=lock`,
		"s/**=shared,keep-name,keep-versions=9", "=,=,=", "a=queue,publish=quiet=-1ns", "{,{,{,}}}=log", "\xff=\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "rule "), err)
			assert.Equal(t, Rule{}, r)
			return
		}
		again, err := ParseRule(r.String())
		require.NoError(t, err)
		assert.Equal(t, r, again)
		assert.NotEmpty(t, r.patterns)
		assert.LessOrEqual(t, len(r.patterns), maxAlternatives)
		assert.Equal(t, r.vector.Publish == PublishQuiet, r.vector.Quiet > 0)
		rules, err := NewRules([]Rule{r}, NameTables{})
		require.NoError(t, err)
		assert.NotEmpty(t, rules.Describe())
	})
}
