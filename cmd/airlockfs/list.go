package main

import "strings"

// list is a flag that may be repeated, and a list in a configuration. Each value is checked as it is given.
type list struct {
	given  []string                      // on the command line
	commas bool                          // one flag may give several, with commas between them
	accept func(text, from string) error // from: FILE:LINE, or "" for the command line
}

// newList makes a list whose values are kept as they are once check has found nothing wrong.
func newList(values *[]string, check func(text string) error) *list {
	return &list{accept: func(text, _ string) error {
		err := check(text)
		if err == nil {
			*values = append(*values, text)
		}
		return err
	}}
}

func (l *list) String() string { return strings.Join(l.given, ",") }
func (l *list) Type() string   { return "list" }

func (l *list) Set(text string) error {
	values := []string{text}
	if l.commas {
		values = strings.Split(text, ",")
	}
	for _, v := range values {
		if err := l.accept(v, ""); err != nil {
			return err
		}
	}
	l.given = append(l.given, text)
	return nil
}
