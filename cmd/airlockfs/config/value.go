package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Place is where in a file something is. Lines and columns begin with 1; 0 is unknown.
type Place struct {
	File         string
	Line, Column int
}

// String is FILE:LINE, without what is unknown.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Errorf makes an error of something wrong at a place.
func (p Place) Errorf(format string, args ...any) error {
	return &placedError{p, fmt.Errorf(format, args...)}
}

type placedError struct {
	at  Place
	err error
}

func (e *placedError) Error() string {
	if e.at.Column == 0 {
		return fmt.Sprintf("%s: %s", e.at, e.err)
	}
	return fmt.Sprintf("%s:%d: %s", e.at, e.at.Column, e.err)
}

func (e *placedError) Unwrap() error { return e.err }

// Kind is what a value is.
type Kind int

const (
	Nothing Kind = iota // no value was written, or null
	Text
	List
	Map
)

var kindNames = [...]string{"nothing", "a text", "a list", "a map"}

// String names a kind, with its article.
func (k Kind) String() string { return kindNames[k] }

// Value is what was written at a place. A number is a text, as it was written.
type Value struct {
	At     Place
	Kind   Kind
	Text   string
	Items  []Value // of a List
	Fields []Entry // of a Map, in the order of the file, each key once
}

// Entry is a key and its value.
type Entry struct {
	Key   string
	At    Place
	Value Value
}

// Join puts errors in the order of their places, and those that it joined before among them. It is nil if there are none.
func Join(errs []error) error {
	errs = apart(errs)
	place := func(err error) (p Place) {
		var e *placedError
		if errors.As(err, &e) {
			p = e.at
		}
		return p
	}
	slices.SortStableFunc(errs, func(a, b error) int {
		return cmp.Or(cmp.Compare(place(a).Line, place(b).Line), cmp.Compare(place(a).Column, place(b).Column))
	})
	return errors.Join(errs...)
}

// apart takes joined errors apart.
func apart(errs []error) (all []error) {
	for _, err := range errs {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = append(all, apart(joined.Unwrap())...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	return all
}
