package config

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Parse gives what a file of that name holds. A file that holds nothing, or comments only, has no entries. The error
// lists everything that is wrong; the entries are then those with which nothing is.
func Parse(file string, text []byte) ([]Entry, error) {
	p := &parser{file: file, lines: strings.Split(string(text), "\n")}
	root, err := p.document(text)
	if root == nil || err != nil {
		return nil, err
	}
	v, _ := p.value(root)
	if v.Kind != Map && v.Kind != Nothing && len(p.errs) == 0 {
		p.fail(v.At, "this is %s: a configuration is a map, with lines such as `linger: 10m`", v.Kind)
	}
	return v.Fields, Join(p.errs)
}

type parser struct {
	file  string
	lines []string
	errs  []error
}

func (p *parser) fail(at Place, format string, args ...any) {
	p.errs = append(p.errs, at.Errorf(format, args...))
}

func (p *parser) place(line, column int) Place {
	return Place{File: p.file, Line: line, Column: column}
}

// document is the only one in the text; nil if there is none. Its nodes refer to others where the text does, so that
// nothing is larger than the text.
func (p *parser) document(text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil {
		return nil, p.syntax(err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, p.place(second.Line, second.Column).Errorf("a second document begins here: a configuration is one, so remove the --- before it")
	case !errors.Is(err, io.EOF):
		return nil, p.syntax(err)
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		return nil, nil
	}
	return first.Content[0], nil
}

// syntax explains why the text is no YAML.
func (p *parser) syntax(err error) error {
	var e *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		return nil // there is no document
	case errors.As(err, &e):
		return p.place(e.Mark.Line, e.Mark.Column).Errorf("this is no YAML: %s%s", e.Message, p.hint(e.Mark.Line))
	}
	return p.place(0, 0).Errorf("this is no YAML: %w", err)
}

// hint says what is usually wrong with a line.
func (p *parser) hint(line int) string {
	if line < 1 || line > len(p.lines) {
		return ""
	}
	text := p.lines[line-1]
	rest := strings.TrimLeft(text, " ")
	if strings.HasPrefix(rest, "\t") {
		return "; indent with spaces, tabs don't count"
	}
	rest = strings.TrimPrefix(rest, "- ")
	if key, value, found := strings.Cut(rest, ": "); found && strings.IndexAny(key, special) != 0 {
		rest = value
	}
	if rest = strings.TrimSpace(rest); strings.IndexAny(rest, special) == 0 {
		return "; " + quote(rest)
	}
	return ""
}

// special are the characters with which no text can begin that has no quotes around it.
const special = "*&!%@`[]{},|>#"

// noShorthand: with aliases a small file can mean a large one, and with tags a text something else than it says.
const noShorthand = "YAML's anchors, aliases and tags are not known here; "

func quote(text string) string {
	return "text that begins with " + text[:1] + " needs quotes around it: '" + strings.ReplaceAll(text, "'", "''") + "'"
}

// value is what a node holds. Of one that can't be read it is not known what was meant.
func (p *parser) value(n *yaml.Node) (v Value, known bool) {
	v = Value{At: p.place(n.Line, n.Column)}
	switch {
	case n.Kind == yaml.AliasNode:
		p.fail(v.At, "%s%s", noShorthand, quote("*"+n.Value))
		return v, false
	case n.Anchor != "":
		p.fail(v.At, "%s%s", noShorthand, quote("&"+n.Anchor))
		return v, false
	case n.Style&yaml.TaggedStyle != 0:
		p.fail(v.At, "%s%s", noShorthand, quote("!"+strings.TrimLeft(n.Tag, "!")))
		return v, false
	case n.Kind == yaml.SequenceNode:
		v.Kind, v.Items = List, p.items(n)
	case n.Kind == yaml.MappingNode:
		v.Kind = Map
		v.Fields, known = p.fields(n)
		return v, known
	case n.ShortTag() != "!!null":
		v.Kind, v.Text = Text, n.Value
	}
	return v, true
}

func (p *parser) items(n *yaml.Node) []Value {
	var all []Value
	for _, item := range n.Content {
		if v, known := p.value(item); known {
			all = append(all, v)
		}
	}
	return all
}

// fields are those that can be read. all: there is no other.
func (p *parser) fields(n *yaml.Node) (some []Entry, all bool) {
	all = true
	seen := map[string]Place{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, _ := p.value(n.Content[i])
		value, known := p.value(n.Content[i+1])
		e := Entry{Key: key.Text, At: key.At, Value: value}
		first, twice := seen[e.Key]
		switch {
		case key.Kind != Text:
			p.fail(e.At, "%s can't be a key: write a word, a colon and a value", key.Kind)
			all = false
		case twice:
			p.fail(e.At, "%q is given twice, first in line %d: keep one", e.Key, first.Line)
		default:
			seen[e.Key] = e.At
			if all = all && known; known {
				some = append(some, e)
			}
		}
	}
	return some, all
}
