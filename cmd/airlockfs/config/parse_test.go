package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	entries, err := Parse("f", []byte("# c\nlinger: 10m # c\ntemp:\n  - '*.a'\n  - .~b#c\nrules: [{class: 7}, \"x\"]\nnone:\nnil: ~\r\n"))
	require.NoError(t, err)
	at := func(line, column int) Place { return Place{"f", line, column} }
	assert.Equal(t, []Entry{
		{"linger", at(2, 1), Value{At: at(2, 9), Kind: Text, Text: "10m"}},
		{"temp", at(3, 1), Value{At: at(4, 3), Kind: List, Items: []Value{
			{At: at(4, 5), Kind: Text, Text: "*.a"}, {At: at(5, 5), Kind: Text, Text: ".~b#c"}}}},
		{"rules", at(6, 1), Value{At: at(6, 8), Kind: List, Items: []Value{
			{At: at(6, 9), Kind: Map, Fields: []Entry{{"class", at(6, 10), Value{At: at(6, 17), Kind: Text, Text: "7"}}}},
			{At: at(6, 21), Kind: Text, Text: "x"}}}},
		{"none", at(7, 1), Value{At: at(7, 6)}},
		{"nil", at(8, 1), Value{At: at(8, 6)}},
	}, entries)
}

// An empty file sets nothing, which is no mistake.
func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# only\n# comments", "---\n", "--- # c\n...\n", "null", "{}", "\ufeff"} {
		entries, err := Parse("f", []byte(text))
		assert.NoError(t, err, text)
		assert.Empty(t, entries, text)
	}
}

// Each mistake is said where it is; what one line does wrong does not hide what another one does.
func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\na: 2\n":                 `f:2:1: "a" is given twice, first in line 1: keep one`,
		"r:\n  - {a: 1, b: 2, a: 3}\n": `f:2:18: "a" is given twice, first in line 2: keep one`,
		"a\n":                          "f:1:1: this is a text: a configuration is a map, with lines such as `linger: 10m`",
		"- a\n":                        "f:1:1: this is a list: a configuration is a map, with lines such as `linger: 10m`",
		"[a]: b\n":                     "f:1:1: a list can't be a key: write a word, a colon and a value",
		"a: b\n---\nc: d\n":            "f:2:1: a second document begins here: a configuration is one, so remove the --- before it",
		"r:\n  - *.log=log\n":          "f:2:5: this is no YAML: unknown anchor '.log=log' referenced; text that begins with * needs quotes around it: '*.log=log'",
		"r:\n  - [ab]*=log\n":          "f:2:9: this is no YAML: did not find expected '-' indicator; text that begins with [ needs quotes around it: '[ab]*=log'",
		"r:\n  - p: {a,b}/**\n":        "f:2:13: this is no YAML: did not find expected key; text that begins with { needs quotes around it: '{a,b}/**'",
		"p: {a,b}/**\n":                "f:1:9: this is no YAML: did not find expected key; text that begins with { needs quotes around it: '{a,b}/**'",
		"r:\n\t- a\n":                  "f:2:1: this is no YAML: found character that cannot start any token; indent with spaces, tabs don't count",
		"a: @x\n":                      "f:1:4: this is no YAML: found character that cannot start any token; text that begins with @ needs quotes around it: '@x'",
		"r:\n  - a\n - b\n":            "f:3:2: this is no YAML: did not find expected key",
		"a: 'x\n":                      "f:2:1: this is no YAML: found unexpected end of stream",
		"a: \xff\n":                    "f: this is no YAML: invalid leading UTF-8 octet (value: 255)",
		"a: b\x01\n":                   "f: this is no YAML: control characters are not allowed (value: 1)",
		"a: &x b\n":                    "f:1:4: YAML's anchors, aliases and tags are not known here; text that begins with & needs quotes around it: '&x'",
		"r:\n- &x b\n- *x\n- *x\n- !y z": "f:2:3: YAML's anchors, aliases and tags are not known here; text that begins with & needs quotes around it: '&x'\n" +
			"f:3:3: YAML's anchors, aliases and tags are not known here; text that begins with * needs quotes around it: '*x'\n" +
			"f:4:3: YAML's anchors, aliases and tags are not known here; text that begins with * needs quotes around it: '*x'\n" +
			"f:5:3: YAML's anchors, aliases and tags are not known here; text that begins with ! needs quotes around it: '!y'",
	} {
		_, err := Parse("f", []byte(text))
		assert.EqualError(t, err, want, text)
	}
}

// What multiplies in other readers of YAML is refused here without being multiplied.
func TestParseExpandsNothing(t *testing.T) {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		before := string(c - 1)
		text += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+before+",", 9), ",") + "]\n"
	}
	_, err := Parse("f", []byte(text))
	assert.ErrorContains(t, err, "aliases")
	_, err = Parse("f", []byte("a: "+strings.Repeat("[", maxSize)))
	assert.ErrorContains(t, err, "depth")
}

// FuzzParse: what is accepted is in the file, where it says; what is refused is explained with a place.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"linger: 1h\nrules:\n  - a=b\n  - {pattern: x, class: y}\n", "a: &x [b]\nc: *x", "? [a]\n: {b: c}", "--- |\n a\n...\n---\n",
		"%YAML 1.1\n---\n!!map {a: !!binary aa==}", "\"\\x1b\": >-\n  x\n\n  y\n", "<<: {a: b}", "\ufeffa: 'it''s'", ": \"0"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := Parse("f", text)
		if err != nil {
			assert.Regexp(t, `^f(:\d+:\d+)?: .`, err.Error())
			return
		}
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + strings.Count(string(text), "\u2028") +
			strings.Count(string(text), "\u2029") + strings.Count(string(text), "\u0085") + 1
		last := 0
		for _, e := range entries {
			assert.GreaterOrEqual(t, e.At.Line, max(last, 1))
			assert.LessOrEqual(t, e.At.Line, lines)
			last = e.At.Line
		}
	})
}
