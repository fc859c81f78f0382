package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rule gives a class and switches to the names that a pattern matches.
type Rule struct {
	text       string
	from       string // where the user gave it
	patterns   []pattern
	vector     Vector
	outcomeSet bool // the rule says outcome=, the name of the folder does not decide
	warnings   []string
}

// ParseRule reads PATTERN=CLASS[,switch=value…]. A pattern is like one of gitignore(5), but can't be negated,
// may have alternatives in braces, and means only what it matches: what is below a folder is matched by `FOLDER/**` or
// `FOLDER/`, see type pattern. It may contain `=`: the class begins behind the first `=` that is not escaped by
// a backslash and is followed by a word that ends with the rule or with a comma. Errors name the offending part and
// what is allowed there.
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text}
	if err := r.parse(); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return r, nil
}

// String gives the rule as it was written.
func (r Rule) String() string { return r.text }

// From gives the rule a place of origin, such as a file and line, that all that is said of it names.
func (r Rule) From(place string) Rule {
	r.from = place
	return r
}

// Origin is what From said, "" if nothing.
func (r Rule) Origin() string { return r.from }

// Patterns counts the patterns of the rule, of which braces make several.
func (r Rule) Patterns() int { return len(r.patterns) }

// title is the rule as sentences name it.
func (r *Rule) title() string {
	title := fmt.Sprintf("rule %q", r.text)
	if r.from != "" {
		title += " (" + r.from + ")"
	}
	return title
}

// Warnings says what the rule asks for that has no effect yet, one sentence each.
func (r Rule) Warnings() []string {
	var all []string
	for _, w := range r.warnings {
		all = append(all, r.title()+": "+w)
	}
	return all
}

func (r *Rule) parse() (err error) {
	split := classStart(r.text)
	if split < 0 {
		if _, err := compilePatterns(r.text); err != nil {
			return err
		}
		return errors.New("no class: write PATTERN=CLASS, as in 'done/**=archive'")
	}
	if r.patterns, err = compilePatterns(r.text[:split-1]); err != nil {
		return err
	}
	words := strings.Split(r.text[split:], ",")
	class, err := ParseClass(words[0])
	if err != nil {
		return err
	}
	r.vector = vectorOf(class)
	return r.parseSwitches(words[1:])
}

// classStart gives the index behind the `=` that ends the pattern, or a negative number.
func classStart(text string) int {
	for i := 0; i < len(text); i = tokenEnd(text, i) {
		if text[i] != '=' {
			continue
		}
		word, _, _ := strings.Cut(text[i+1:], ",")
		if !strings.ContainsAny(word, `=/*?[]{}\`) {
			return i + 1
		}
	}
	return -1
}

func (r *Rule) parseSwitches(words []string) error {
	seen := map[string]bool{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if seen[name] {
			return fmt.Errorf("switch %q is given twice", name)
		}
		seen[name] = true
		if err := r.parseSwitch(word, name, value); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rule) parseSwitch(word, name, value string) error {
	i := slices.IndexFunc(ruleSwitches, func(s ruleSwitch) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("unknown switch %q: use one of %s", name, strings.Join(SwitchNames(), ", "))
	}
	s := ruleSwitches[i]
	if !slices.Contains(s.classes, r.vector.Class) {
		return fmt.Errorf("switch %q is not for class %s, only for %s", name, r.vector.Class, join(s.classes))
	}
	if !s.set(r, value) {
		return fmt.Errorf("switch %q: write %s", word, s.usage)
	}
	if s.pending {
		r.warn("%s has no effect yet", word)
	}
	return nil
}

func (r *Rule) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// errorFolder is the name of folders for items that could not be processed.
const errorFolder = "error"

// vectorIn gives the vector for files in folder: what is settled into an error folder has failed, if the rule does not
// say otherwise.
func (r *Rule) vectorIn(folder string) Vector {
	v := r.vector
	if r.outcomeSet || (v.Class != ClassArchive && v.Class != ClassPlain) {
		return v
	}
	for rest := folder; rest != ""; {
		var part string
		if part, rest, _ = strings.Cut(rest, "/"); part == errorFolder {
			v.Outcome = OutcomeFailed
		}
	}
	return v
}
