package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/config"
	"github.com/airlockfs/airlockfs/protocol"
)

// pluralKeys are the keys of flags that give one of several.
var pluralKeys = map[string]string{"rule": "rules", "observer": "observers"}

// notInFile are flags that say how a mount is started, not what it is.
var notInFile = []string{"config", "foreground", "verbose"}

// kernelKey is the key of options for the kernel, which after -o stand among the others.
const kernelKey = "options"

// maxPatterns of a file are enough; each is compared with each other, and asked about each name.
const maxPatterns = 1000

// readConfig takes from the file of --config what no flag said. Of what can be repeated, the flags' part comes first.
func (s *settings) readConfig(flags *pflag.FlagSet) error {
	if s.configFile == "" {
		return nil
	}
	if err := absolutePaths(&s.configFile); err != nil {
		return err
	}
	entries, err := config.Read(s.configFile)
	r := configReader{settings: s, flags: flags, lists: map[string]*list{kernelKey: {accept: s.acceptKernelOption}}}
	r.note(err) // what can be read may hold other mistakes
	return withCode(exitUsage, r.read(entries))
}

// configReader takes over a configuration. It goes on after an error, to find them all.
type configReader struct {
	*settings
	flags  *pflag.FlagSet
	lists  map[string]*list // keys that are no flags
	placed []config.Place   // of the last rules of the settings: those from the file
	errs   []error
}

func (r *configReader) read(entries []config.Entry) error {
	for _, e := range entries {
		r.note(r.take(e))
	}
	r.contradictions()
	return config.Join(r.errs)
}

func (r *configReader) note(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// take takes one entry over.
func (r *configReader) take(e config.Entry) error {
	if l := r.lists[e.Key]; l != nil {
		return r.takeList(l, e)
	}
	flag := r.flagOf(e.Key)
	switch {
	case slices.Contains(notInFile, e.Key):
		return e.At.Errorf("%s can't be set in a file: it is for the command line", e.Key)
	case flag == nil:
		return e.At.Errorf("there is no setting %q: %s", e.Key, didYouMean(e.Key, r.keys()))
	}
	if l, ok := flag.Value.(*list); ok {
		return r.takeList(l, e)
	}
	return takeText(flag, e)
}

// keys are all keys of a file.
func (r *configReader) keys() []string {
	keys := []string{kernelKey}
	r.flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInFile, f.Name) {
			keys = append(keys, keyOf(f.Name))
		}
	})
	slices.Sort(keys)
	return keys
}

func keyOf(flag string) string {
	if key, ok := pluralKeys[flag]; ok {
		return key
	}
	return flag
}

func (r *configReader) flagOf(key string) (found *pflag.Flag) {
	r.flags.VisitAll(func(f *pflag.Flag) {
		if keyOf(f.Name) == key {
			found = f
		}
	})
	return found
}

// takeText checks a value even if a flag beats it.
func takeText(flag *pflag.Flag, e config.Entry) error {
	text := e.Value.Text
	switch {
	case e.Value.Kind != config.Text:
		return e.Value.At.Errorf("%s: here is %s: write `%s: VALUE`", e.Key, e.Value.Kind, e.Key)
	case flag.NoOptDefVal != "" && text != "true" && text != "false":
		return e.Value.At.Errorf("%s: write true or false, not %q", e.Key, text)
	case flag.Name == "log" && !filepath.IsAbs(text):
		return e.Value.At.Errorf("log: write the whole path of the file, from / on, not %q", text)
	}
	given := flag.Value.String()
	if err := flag.Value.Set(text); err != nil {
		return e.Value.At.Errorf("%s: %w", e.Key, err)
	}
	if flag.Changed {
		return flag.Value.Set(given)
	}
	return nil
}

func (r *configReader) takeList(l *list, e config.Entry) error {
	switch e.Value.Kind {
	case config.Nothing: // all of it is commented out
		return nil
	case config.List:
		for _, item := range e.Value.Items {
			r.note(r.takeItem(l, e.Key, item))
		}
		return nil
	}
	return e.Value.At.Errorf("%s: here is %s: write a list, a line that begins with `- ` for each", e.Key, e.Value.Kind)
}

func (r *configReader) takeItem(l *list, key string, item config.Value) error {
	text, before := item.Text, len(r.rules)
	switch {
	case item.Kind == config.Map && key == "rules":
		var err error
		if text, err = ruleText(item); err != nil {
			return err
		}
	case item.Kind != config.Text:
		return item.At.Errorf("%s: here is %s: write a text%s", key, item.Kind, quotesHint(item.Kind))
	}
	if err := l.accept(text, item.At.String()); err != nil {
		return item.At.Errorf("%w", err)
	}
	for range len(r.rules) - before {
		r.placed = append(r.placed, item.At)
	}
	return nil
}

// quotesHint: a pattern with brackets is a list to YAML, and one with braces a map.
func quotesHint(k config.Kind) string {
	if k == config.Nothing {
		return ""
	}
	return ", with quotes around it if it begins with [ or { or holds a colon and a space"
}

// contradictions finds rules of the file that can't both be meant. A flag may contradict the file: that is what it is
// for.
func (r *configReader) contradictions() {
	first, patterns := len(r.rules)-len(r.placed), 0
	for i, rule := range r.rules[first:] {
		if patterns += rule.Patterns(); patterns > maxPatterns {
			r.note(r.placed[i].Errorf("rules with more than %d patterns in all, alternatives in braces counted, are too many", maxPatterns))
			return
		}
	}
	for _, c := range protocol.Contradictions(r.rules) {
		if c.First < first {
			continue
		}
		one, other := r.placed[c.First-first], r.placed[c.Second-first]
		if c.Same {
			r.note(other.Errorf("the rule in line %d is for the same names, and says otherwise: remove one of the two", one.Line))
			continue
		}
		r.note(other.Errorf("the rule in line %d says otherwise of %q, and neither is more specific: write a third one for what both match, or narrow one of them",
			one.Line, c.Path))
	}
}
