package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pattern is one gitignore-like pattern, with alternatives in braces already written out:
//
//   - without a slash, except at its end, it matches in any folder, else it is anchored at the root of the mount;
//   - `**` as a whole part stands for any number of folders, none included, and at the end for everything below:
//     `in/**` matches in/x and in/a/x, not the name `in` itself;
//   - a slash at the end stands for `/**`: `in/` matches everything below any folder `in`, `/in/` only below the root's;
//   - `*`, `?` and `[a-z]` match within one name, a backslash takes a character literally.
//
// The last part is for the name, those before it are for the folder; `in/**` has the parts `in`, `**` and `*`.
type pattern []part

// maxPattern is the longest pattern in bytes; no path is longer (PATH_MAX).
const maxPattern = 4096

var (
	errEmptyPattern = errors.New("the pattern is empty: write which names are meant, such as *.csv, or ** for all")
	errLongPattern  = fmt.Errorf("pattern with more than %d bytes", maxPattern)
)

// compilePatterns gives one pattern for each alternative in text.
func compilePatterns(text string) ([]pattern, error) {
	if len(text) > maxPattern {
		return nil, errLongPattern
	}
	alternatives, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	var all []pattern
	for _, a := range alternatives {
		p, err := compilePattern(a)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func compilePattern(text string) (pattern, error) {
	if strings.HasPrefix(text, "!") {
		return nil, errors.New(`a pattern can't be negated, write \! for a name that begins with an exclamation mark`)
	}
	texts, err := splitPattern(text)
	if err != nil {
		return nil, err
	}
	p := make(pattern, len(texts))
	for i, t := range texts {
		if p[i], err = compilePart(t); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// splitPattern gives the parts of a pattern in full: an unanchored one begins with `**`, the last one is for a name.
func splitPattern(text string) ([]string, error) {
	body, anchored := strings.CutPrefix(text, "/")
	body, below := strings.CutSuffix(body, "/")
	if body == "" {
		return nil, errEmptyPattern
	}
	parts := strings.Split(body, "/")
	if !anchored && len(parts) == 1 {
		parts = slices.Insert(parts, 0, "**")
	}
	if below {
		parts = append(parts, "**")
	}
	if parts[len(parts)-1] == "**" {
		parts = append(parts, "*")
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, fmt.Errorf("a part of a pattern can't be %q", p)
		}
	}
	return slices.CompactFunc(parts, func(a, b string) bool { return a == "**" && b == "**" }), nil
}

// matches takes a clean relative path ("" is the root) and a name in it.
func (p pattern) matches(folder, name string) bool {
	last := len(p) - 1
	return p[last].matches(name) && matchFolder(p[:last], folder)
}

// matchFolder walks along the folder's path. When a part does not fit, the latest `**` takes in one folder more; that
// is enough, as an earlier one could only reach places that the latest one reaches too.
func matchFolder(parts []part, folder string) bool {
	var after []part
	var beyond string // what the latest `**` has not taken in, where after is tried
	for {
		segment, rest, _ := strings.Cut(folder, "/")
		switch {
		case len(parts) > 0 && parts[0].kind == anyFolders:
			parts = parts[1:]
			if len(parts) == 0 {
				return true
			}
			after, beyond = parts, folder
		case len(parts) == 0 && folder == "":
			return true
		case len(parts) > 0 && folder != "" && parts[0].matches(segment):
			parts, folder = parts[1:], rest
		case beyond != "":
			_, beyond, _ = strings.Cut(beyond, "/")
			parts, folder = after, beyond
		default:
			return false
		}
	}
}

// namesFile tells whether the pattern says something about the name itself, not only about its folder.
func (p pattern) namesFile() bool { return p[len(p)-1].kind != anyName }

// everywhere tells whether the pattern matches all there is.
func (p pattern) everywhere() bool {
	return len(p) == 2 && p[0].kind == anyFolders && p[1].kind == anyName
}

// compareSpecific orders the more specific pattern first. Patterns are read from the left, as routers read paths: where
// they first differ in kind, a literal part comes before one with wildcards, the one with more literal characters
// before that with fewer, both before `*`, and `*` before `**`. If one of them ends there, the longer one comes first.
func compareSpecific(a, b pattern) int {
	for i := range min(len(a), len(b)) {
		if c := comparePart(&a[i], &b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(b), len(a))
}
