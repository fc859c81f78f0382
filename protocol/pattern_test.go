package protocol

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func matchesAny(t *testing.T, text, path string) bool {
	t.Helper()
	patterns, err := compilePatterns(text)
	require.NoError(t, err, text)
	folder, name := split(path)
	for _, p := range patterns {
		if p.matches(folder, name) {
			return true
		}
	}
	return false
}

func TestPatterns(t *testing.T) {
	long := strings.Repeat("n", 251)
	for text, paths := range map[string]struct{ yes, no string }{
		"a":           {"a x/a x/y/a", "b a/x xa A"},
		"/a":          {"a", "x/a a/x"},
		"a/b":         {"a/b", "x/a/b b a/b/c"},
		"a/":          {"a/x a/y/x z/a/x", "a z/a b/x"},
		"/a/":         {"a/x a/y/x", "a z/a/x"},
		"a/b/":        {"a/b/x a/b/y/x", "a/b z/a/b/x a/x"},
		"in/**":       {"in/a in/b/c", "in inn/a x/in/a"},
		"in/*":        {"in/a", "in/b/c in"},
		"**":          {"a a/b", ""},
		"*":           {"a a/b .a", ""},
		"/*":          {"a", "a/b"},
		"**/x":        {"x a/x a/b/x", "a/b"},
		"a/**/x":      {"a/x a/b/x a/b/c/x", "x a/b b/a/x"},
		"a/**/b/**/c": {"a/b/c a/x/b/y/z/c a/b/b/c a/c/b/c", "a/c a/b b/c a/x/c"},
		"**/a/b/**":   {"a/b/x a/a/b/x x/a/b/y/z", "a/x/b/y a/b"},
		"a/*/c":       {"a/b/c", "a/c a/b/b/c"},
		"*.tar.gz":    {"a.tar.gz .tar.gz", "a.gz a.tar.gz~"},
		"a*b*c":       {"abc axxbyyc abbc", "ab acb abcd"},
		"*-*":         {"- a-b -a", "ab"},
		"*a?*":        {"ab xay", "a xa"},
		"a?c":         {"abc aéc", "ac abbc"},
		"[a-c]x":      {"ax cx", "dx x"},
		"[!a-c]x":     {"dx", "ax x"},
		"[*]":         {"*", "a"},
		`\*`:          {"*", "a"},
		`\!a`:         {"!a", "a"},
		`a\[b`:        {"a[b", "ab"},
		`*\é`:         {"aé", "ae"},
		"{a,b/c}":     {"a x/a b/c", "c x/b/c"},
		"{a,{b,c}d}x": {"ax bdx cdx", "bx dx"},
		"x{,y}":       {"x xy", "xyy"},
		"[{,}]":       {"{ , }", "a"},
		`\{a,b\}`:     {"{a,b}", "a b"},
		"*.tmp":       {long + ".tmp", long + ".tmq"},
	} {
		for _, path := range strings.Fields(paths.yes) {
			assert.True(t, matchesAny(t, text, path), "%s should match %s", text, path)
		}
		for _, path := range strings.Fields(paths.no) {
			assert.False(t, matchesAny(t, text, path), "%s should not match %s", text, path)
		}
	}
}

// Names are bytes: two broken characters differ if their bytes do.
func TestPatternsThatAreNotUTF8(t *testing.T) {
	assert.True(t, matchesAny(t, "\xff?\xfe", "\xffa\xfe"))
	assert.True(t, matchesAny(t, "\xff?\xfe", "\xff\x80\xfe"))
	assert.False(t, matchesAny(t, "a\xff?*b", "a\xfexb"))
	assert.False(t, matchesAny(t, "*?\ufffd*", "a\xff"), "a broken character is not the replacement character")
}

func TestMalformedPatterns(t *testing.T) {
	for _, text := range []string{"", "/", "//", "a//b", "./a", "a/../b", "a**", "**a/b", "a/b**", "***", "[", "[]", "[a", "a[!]", "{a", "a}", "{a,[}",
		`a\`, "!a", "{,a}", "{a/,b}/c", strings.Repeat("a", maxPattern+1)} {
		_, err := compilePatterns(text)
		require.Error(t, err, "%q", text)
	}
}

// Each pattern is more specific than all that follow.
func TestSpecificity(t *testing.T) {
	order := []string{"a/b/c", "a/b/cc*", "a/b/c?", "a/b/c*", "a/b/?", "a/b/**", "a/bc*", "a/b?/c", "a/b*/**", "a/*/c", "a/*", "a/**/b/c",
		"a/**/c", "a/**/*.c", "a/**", "*/b", "/*", "**/a/b", "**/a/**", "b", "*.cc", "*.c", "*"}
	for i, text := range order {
		for j := range order {
			a, err := compilePattern(text)
			require.NoError(t, err)
			b, err := compilePattern(order[j])
			require.NoError(t, err)
			switch c := compareSpecific(a, b); {
			case i < j:
				assert.LessOrEqual(t, c, 0, "%s before %s", text, order[j])
			case i == j:
				assert.Zero(t, c)
			default:
				assert.GreaterOrEqual(t, c, 0, "%s after %s", text, order[j])
			}
		}
	}
}

// sameAsDoublestar compares the walk along the folders with another implementation.
func sameAsDoublestar(t *testing.T, text, path string) {
	parts, err := splitPattern(text)
	if err != nil {
		return
	}
	p, err := compilePattern(text)
	if err != nil {
		return
	}
	folder, name := split(path)
	want, err := doublestar.Match(strings.Join(parts, "/"), path)
	require.NoError(t, err)
	assert.Equal(t, want, p.matches(folder, name), "%q on %q", text, path)
}

func TestPatternsAgreeWithDoublestar(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	pick := func(words []string) string {
		parts := make([]string, 1+random.IntN(5))
		for i := range parts {
			parts[i] = words[random.IntN(len(words))]
		}
		return strings.Join(parts, "/")
	}
	for range 20000 {
		sameAsDoublestar(t, pick([]string{"a", "b", "ab", "*", "**", "**", "a*", "?", "*b*", "a?*"}), pick([]string{"a", "b", "ab", "ba", "abb"}))
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("a/**/b*", "a/c/bd")
	f.Add("**/a?/*/**", "xx/ab/c/d/e")
	f.Add(`\**\?`, "*x?")
	f.Fuzz(func(t *testing.T, text, path string) {
		// A class of doublestar may match a slash, and braces are not its business here.
		if strings.ContainsAny(text, "[]{}!") || !utf8.ValidString(text) || !utf8.ValidString(path) || path != strings.Trim(path, "/") || path == "" ||
			strings.Contains(path, "//") {
			return
		}
		sameAsDoublestar(t, text, path)
	})
}
