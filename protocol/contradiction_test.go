package protocol

import (
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func rulesOf(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		require.NoError(t, err)
		rules = append(rules, r)
	}
	return rules
}

func TestContradictions(t *testing.T) {
	for _, c := range []struct {
		rules []string
		path  string // "": there is none
		same  bool
	}{
		{rules: []string{"in/**=queue", "in/**=plain"}, path: "in/x", same: true},
		{rules: []string{"in/**=queue", "in/**/*=plain"}, path: "in/x", same: true},
		{rules: []string{"in/**=queue", "in/**=queue,publish=close"}},
		{rules: []string{"in/**=queue", "in/**=queue,publish=exit"}, path: "in/x", same: true},
		{rules: []string{"/in/a=queue", "in/a=log"}, path: "in/a", same: true},
		{rules: []string{"in/**=queue", "in/a/**=plain"}},
		{rules: []string{"in/**=queue", "out/**=plain"}},
		{rules: []string{"a*=queue", "*b=plain"}, path: "ab"},
		{rules: []string{"a*c=queue", "b*c=plain"}},
		{rules: []string{"[a-m]*=queue", "[n-z]*=plain"}},
		{rules: []string{"[a-m]*=queue", "[m-z]*=plain"}, path: "m"},
		{rules: []string{"[!a]=queue", "[^b]=plain"}, path: "x"},
		{rules: []string{"[!!-z]=queue", "[!!-y]=plain"}, path: " "},
		{rules: []string{"?a=queue", "[b]a=plain"}, path: "ba"},
		{rules: []string{"é?=queue", `\é[b-d]=plain`}, path: "éb"},
		{rules: []string{"**/work/**=work", "**/done/**=archive"}, path: "work/done/x"},
		{rules: []string{"**/work/**=work", "**/done/**=archive", "**/work/**/done/**=plain"}},
		{rules: []string{"*.{csv,xml}=queue", "*.{txt,xml}=plain"}, path: ".xml", same: true},
		{rules: []string{"a/*/b*=queue", "a/*/*c=plain"}, path: "a/x/bc"},
		{rules: []string{"error/**=archive", "error/**=archive,outcome=done"}, path: "error/x", same: true},
		{rules: []string{"x/**=serial", "x/**=shared"}, path: "x/x", same: true},
	} {
		found := Contradictions(rulesOf(t, c.rules...))
		if c.path == "" {
			assert.Empty(t, found, c.rules)
			continue
		}
		assert.Equal(t, []Contradiction{{First: 0, Second: 1, Path: c.path, Same: c.same}}, found, c.rules)
	}
}

func TestContradictionsOfManyRules(t *testing.T) {
	assert.Equal(t, []Contradiction{{0, 2, "a/x", true}, {2, 3, "a/x", true}}, Contradictions(rulesOf(t, "a/**=log", "b=plain", "a/**=plain", "a/**=log")))
}

// FuzzMeeting: what is found is matched by both, and nothing is found only if no short path is.
func FuzzMeeting(f *testing.F) {
	for _, s := range [][2]string{{"a*b", "*ab"}, {"**/a/**", "**/b"}, {"[a-b]?", "a*"}, {"a/**/b", "**/?/b"}, {"*a*", "b*b"}, {`\*`, "*"}, {"[!a]", "[!b]"}} {
		f.Add(s[0], s[1])
	}
	short := []string{"a", "b", "c", "ab", "ba", "bb", "abb", "*"}
	f.Fuzz(func(t *testing.T, one, other string) {
		a, err1 := compilePattern(one)
		b, err2 := compilePattern(other)
		if err1 != nil || err2 != nil || len(one)+len(other) > 60 {
			return
		}
		p, found := meetingPath(a, b)
		if found {
			folder, name := split(p)
			assert.True(t, a.matches(folder, name) && b.matches(folder, name), "%q of %q and %q", p, one, other)
			return
		}
		for _, name := range short {
			for _, folder := range append([]string{"", "a/b", "b/a/b"}, short...) {
				assert.False(t, a.matches(folder, name) && b.matches(folder, name), "%q is of %q and %q", path.Join(folder, name), one, other)
			}
		}
	})
}

// All pairs of short patterns, as a fuzzer would hardly find them.
func TestMeetingOfShortPatterns(t *testing.T) {
	parts := compiledParts("a", "b", "*", "?", "[ab]", "[!a]")
	names := namesOf("abc", 4)
	for i, a := range parts {
		for _, b := range parts[:i] {
			name, found := meetingName(a.part, b.part)
			want := slices.ContainsFunc(names, func(n string) bool { return a.matches(n) && b.matches(n) })
			assert.Equal(t, want, found, "%s and %s", a.text, b.text)
			assert.True(t, !found || a.matches(name) && b.matches(name), "%q of %q and %q", name, a.text, b.text)
		}
	}
}

type compiledPart struct {
	part
	text string
}

// compiledParts are all parts of one to three of the pieces.
func compiledParts(pieces ...string) []compiledPart {
	var all []compiledPart
	for _, x := range append(pieces, "") {
		for _, y := range append(pieces, "") {
			for _, z := range pieces {
				if p, err := compilePart(x + y + z); err == nil && p.kind != anyFolders {
					all = append(all, compiledPart{p, x + y + z})
				}
			}
		}
	}
	return all
}

// namesOf are all names of up to so many of the letters.
func namesOf(letters string, length int) []string {
	all := []string{""}
	for done := 0; length > 0; length-- {
		for _, n := range all[done:] {
			done++
			for _, l := range letters {
				all = append(all, n+string(l))
			}
		}
	}
	return all[1:]
}
