package protocol

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Contradiction is two rules that say different things of a path, though neither is more specific, and that no more
// specific rule decides about. The indices are those of the rules; the first rule has the last word.
type Contradiction struct {
	First, Second int
	Path          string
	Same          bool // the patterns are the same, so the second rule never has a say
}

// Contradictions finds rules that contradict one another, one path for each two of them.
func Contradictions(rules []Rule) []Contradiction {
	var all []Contradiction
	places := places(rules)
	for i := range rules {
		for j := i + 1; j < len(rules); j++ {
			if c, found := contradiction(&rules[i], &rules[j], places); found {
				c.First, c.Second = i, j
				all = append(all, c)
			}
		}
	}
	return all
}

func contradiction(a, b *Rule, places []place) (Contradiction, bool) {
	if a.vector == b.vector && a.outcomeSet == b.outcomeSet {
		return Contradiction{}, false
	}
	for _, p := range a.patterns {
		for _, q := range b.patterns {
			if compareSpecific(p, q) != 0 {
				continue
			}
			if path, meet := meetingPath(p, q); meet && !decidedBefore(places, p, path) {
				return Contradiction{Path: path, Same: slices.Equal(p, q)}, true
			}
		}
	}
	return Contradiction{}, false
}

// decidedBefore tells whether a more specific rule than the pattern's has the last word on a path.
func decidedBefore(places []place, than pattern, path string) bool {
	folder, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		folder, name = path[:i], path[i+1:]
	}
	for i := range places {
		if compareSpecific(places[i].pattern, than) >= 0 {
			return false
		}
		if places[i].pattern.matches(folder, name) {
			return true
		}
	}
	return false
}

// meetingPath is a path that both patterns match.
func meetingPath(a, b pattern) (path string, found bool) {
	parts, found := meeting(a, b, func(p part) bool { return p.kind == anyFolders }, meetingName)
	return strings.Join(parts, "/"), found
}

// meetingName is a name that both parts match.
func meetingName(a, b part) (name string, found bool) {
	runes, found := meeting(a.glyphs(), b.glyphs(), glyph.isStar, meetingRune)
	if len(runes) == 0 {
		runes = []rune{'x'} // both are only stars
	}
	return string(runes), found
}

// meeting is a sequence that two patterns match, whose elements meet one another, and of which stars stand for any
// number of elements.
func meeting[E, M any](a, b []E, star func(E) bool, meet func(a, b E) (M, bool)) ([]M, bool) {
	dead := make([]bool, (len(a)+1)*(len(b)+1)) // from here on they have nothing in common
	var from func(i, j int) ([]M, bool)
	from = func(i, j int) (rest []M, found bool) {
		switch at := i*(len(b)+1) + j; {
		case i == len(a) && j == len(b):
			return nil, true
		case dead[at]:
			return nil, false
		default:
			defer func() { dead[at] = !found }()
		}
		starA, starB := i < len(a) && star(a[i]), j < len(b) && star(b[j])
		if starA {
			if rest, found = from(i+1, j); found {
				return rest, true
			}
		}
		if starB {
			if rest, found = from(i, j+1); found {
				return rest, true
			}
		}
		if i == len(a) || j == len(b) || starA && starB {
			return nil, false
		}
		m, met := meet(a[i], b[j])
		if !met {
			return nil, false
		}
		if !starA {
			i++
		}
		if !starB {
			j++
		}
		rest, found = from(i, j)
		return slices.Insert(rest, 0, m), found
	}
	return from(0, 0)
}

// glyph is what a part says about one character: the character itself, a class in brackets, `?`, or `*`.
type glyph struct {
	text    string
	literal bool
}

func (g glyph) isStar() bool { return g.text == "*" && !g.literal }

func (g glyph) matches(r rune) bool {
	switch {
	case g.literal:
		return g.text == string(r)
	case g.text == "*", g.text == "?":
		return true
	}
	return matchGlob(g.text, string(r))
}

// glyphs are the glyphs of a part; `**` has those of `*`.
func (p part) glyphs() []glyph {
	switch p.kind {
	case literal:
		return literalGlyphs(p.prefix)
	case wild:
		if p.glob != "" {
			return globGlyphs(p.glob)
		}
		return slices.Concat(literalGlyphs(p.prefix), []glyph{{text: "*"}}, literalGlyphs(p.suffix))
	}
	return []glyph{{text: "*"}}
}

func literalGlyphs(text string) []glyph {
	var all []glyph
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		all, text = append(all, glyph{text[:size], true}), text[size:]
	}
	return all
}

func globGlyphs(text string) []glyph {
	var all []glyph
	for text != "" {
		switch text[0] {
		case '*', '?', '[':
			end := tokenEnd(text, 0)
			all, text = append(all, glyph{text: text[:end]}), text[end:]
			continue
		case '\\':
			text = text[1:]
		}
		_, size := utf8.DecodeRuneInString(text)
		all, text = append(all, glyph{text[:size], true}), text[size:]
	}
	return all
}

// meetingRune is a character that both glyphs match. Classes are made of ranges, so if they meet they do so at the end
// of a range, or next to one.
func meetingRune(a, b glyph) (rune, bool) {
	for _, r := range "x" + a.text + b.text {
		for _, near := range []rune{r, r - 1, r + 1} {
			if utf8.ValidRune(near) && near != '/' && near != 0 && a.matches(near) && b.matches(near) {
				return near, true
			}
		}
	}
	return 0, false
}
