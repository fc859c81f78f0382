package main

import (
	"slices"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/config"
	"github.com/airlockfs/airlockfs/protocol"
)

// ruleText writes a rule that is a map (pattern, class, and switches) as one on the command line. What is wrong with it
// is said where it is.
func ruleText(rule config.Value) (string, error) {
	for _, e := range rule.Fields {
		if keys := append([]string{"pattern", "class"}, protocol.SwitchNames()...); !slices.Contains(keys, e.Key) {
			return "", e.At.Errorf("rules have no switch %q: %s", e.Key, didYouMean(e.Key, keys))
		}
	}
	pattern, class := fieldOf(rule, "pattern"), fieldOf(rule, "class")
	for _, needed := range []struct {
		name  string
		value config.Value
	}{{"pattern", pattern}, {"class", class}} {
		if needed.value.Kind != config.Text {
			return "", rule.At.Errorf("a rule needs a pattern and a class: add `%s: …`", needed.name)
		}
	}
	if _, err := protocol.ParseClass(class.Text); err != nil {
		return "", class.At.Errorf("%w", err)
	}
	text := pattern.Text + "=" + class.Text
	if _, err := protocol.ParseRule(text); err != nil {
		return "", pattern.At.Errorf("%w", err)
	}
	for _, e := range rule.Fields {
		if e.Key == "pattern" || e.Key == "class" {
			continue
		}
		word, err := switchText(e)
		if err != nil {
			return "", err
		}
		if text += word; word != "" {
			if _, err := protocol.ParseRule(text); err != nil {
				return "", e.At.Errorf("%w", err)
			}
		}
	}
	return text, nil
}

func fieldOf(v config.Value, key string) config.Value {
	i := slices.IndexFunc(v.Fields, func(e config.Entry) bool { return e.Key == key })
	if i < 0 {
		return config.Value{}
	}
	return v.Fields[i].Value
}

// switchText is a switch with the comma before it. One that takes no value is true, or is not there.
func switchText(e config.Entry) (string, error) {
	switch text := e.Value.Text; {
	case e.Value.Kind != config.Text:
		return "", e.Value.At.Errorf("%s: here is %s: write `%s: VALUE`", e.Key, e.Value.Kind, e.Key)
	case text == "false":
		return "", nil
	case text == "true":
		return "," + e.Key, nil
	default:
		return "," + e.Key + "=" + text, nil
	}
}
