package protocol

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// part is what a pattern says about one name between slashes.
type part struct {
	kind partKind
	// prefix and suffix are the literal text before the first and after the last wildcard, middle is the longest one
	// in between. They decide at once about almost every name; glob is asked for the rest, and is empty where a single
	// `*` leaves nothing to ask.
	prefix, middle, suffix string
	glob                   string
	literals               int // literal bytes
	singles                int // wildcards for exactly one character
}

// partKind is in the order of specificity, the least specific first.
type partKind uint8

const (
	anyFolders partKind = iota // `**`
	anyName                    // `*`
	wild                       // wildcards and other text
	literal                    // prefix is the whole name
)

func compilePart(text string) (part, error) {
	switch {
	case text == "**":
		return part{kind: anyFolders}, nil
	case text == "*":
		return part{kind: anyName}, nil
	case !doublestar.ValidatePattern(text):
		return part{}, fmt.Errorf("malformed pattern %q: unbalanced brackets or braces, or a backslash at its end", text)
	}
	return scanPart(text)
}

func scanPart(text string) (part, error) {
	p := part{kind: literal}
	stars := 0
	for i, next := 0, 0; i < len(text); i = next {
		next = tokenEnd(text, i)
		switch text[i] {
		case '*':
			stars++
			if strings.HasPrefix(text[next:], "*") {
				return part{}, fmt.Errorf("in %q, ** has to stand alone between slashes", text)
			}
		case '?', '[':
			p.singles++
		default:
			p.addLiteral(unescape(text[i:next]))
			continue
		}
		if len(p.suffix) > len(p.middle) {
			p.middle = p.suffix
		}
		p.kind, p.suffix = wild, ""
	}
	if p.singles > 0 || stars > 1 {
		p.glob = text
	}
	return p, nil
}

func (p *part) addLiteral(text string) {
	p.literals += len(text)
	if p.kind == literal {
		p.prefix += text
	} else {
		p.suffix += text
	}
}

// tokenEnd gives the index after the token that begins at i: an escaped byte, a character class, or one byte.
func tokenEnd(text string, i int) int {
	switch text[i] {
	case '\\':
		return min(i+2, len(text))
	case '[':
		for j := i + 1; j < len(text); j++ {
			if text[j] == '\\' {
				j++
			} else if text[j] == ']' {
				return j + 1
			}
		}
		return len(text)
	}
	return i + 1
}

func unescape(token string) string {
	return strings.TrimPrefix(token[:len(token)-1], `\`) + token[len(token)-1:]
}

func (p *part) matches(name string) bool {
	switch p.kind {
	case literal:
		return name == p.prefix
	case wild:
		return len(name) >= len(p.prefix)+len(p.suffix) && strings.HasPrefix(name, p.prefix) &&
			strings.HasSuffix(name, p.suffix) && strings.Contains(name, p.middle) && (p.glob == "" || matchGlob(p.glob, name))
	}
	return p.kind == anyName
}

// matchGlob compares characters, and single bytes where the name or the pattern is not UTF-8: all broken bytes would
// count as the same character otherwise.
func matchGlob(glob, name string) bool {
	if !utf8.ValidString(name) || !utf8.ValidString(glob) {
		glob, name = bytewise(glob), bytewise(name)
	}
	return doublestar.MatchUnvalidated(glob, name)
}

func bytewise(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

func comparePart(a, b *part) int {
	if a.kind != b.kind || a.kind != wild {
		return cmp.Compare(b.kind, a.kind)
	}
	return cmp.Or(cmp.Compare(b.literals, a.literals), cmp.Compare(b.singles, a.singles))
}

// maxAlternatives bounds what braces multiply to.
const maxAlternatives = 64

// expandBraces writes out the alternatives of `{a,b}`, as shells do, in order.
func expandBraces(text string) ([]string, error) {
	start := braceStart(text)
	if start < 0 {
		return []string{text}, nil
	}
	alternatives, end := splitBraces(text, start+1)
	if end < 0 {
		return nil, fmt.Errorf("malformed pattern %q: a brace is not closed", text)
	}
	var all []string
	for _, a := range alternatives {
		expanded, err := expandBraces(text[:start] + a + text[end:])
		if err != nil {
			return nil, err
		}
		if all = append(all, expanded...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("pattern with more than %d alternatives", maxAlternatives)
		}
	}
	return all, nil
}

func braceStart(text string) int {
	for i := 0; i < len(text); i = tokenEnd(text, i) {
		if text[i] == '{' {
			return i
		}
	}
	return -1
}

// splitBraces splits at the commas of the brace that was opened before i. end is the index after the closing brace, or
// negative if there is none.
func splitBraces(text string, i int) (alternatives []string, end int) {
	depth, from := 0, i
	for ; i < len(text); i = tokenEnd(text, i) {
		switch {
		case text[i] == '{':
			depth++
		case text[i] == '}' && depth > 0:
			depth--
		case text[i] == ',' && depth == 0:
			alternatives, from = append(alternatives, text[from:i]), i+1
		case text[i] == '}':
			return append(alternatives, text[from:i]), i + 1
		}
	}
	return nil, -1
}
