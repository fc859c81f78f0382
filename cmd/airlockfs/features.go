package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/airlockfs/airlockfs/backing"
)

// features are the names of what backing.Store.Probe tries. A misspelt --require must not count as fulfilled.
var features = []string{"tmpfile", "xattr", "noreplace", "exchange", "hardlinks", "birthtime", "leases", "fallocate", "reflink"}

func checkFeature(name string) error {
	if !slices.Contains(features, name) {
		return fmt.Errorf("there is no feature %q: use some of %s", name, strings.Join(features, ", "))
	}
	return nil
}

func checkRequired(path string, lacks []backing.Lack, required []string) error {
	if len(required) == 0 {
		return nil
	}
	for _, l := range lacks {
		if slices.Contains(required, l.Feature) || l.Feature == "probe" {
			return fmt.Errorf("the backing %s lacks %s, which --require asks for: %s Use another filesystem, or require less", path, l.Feature, l.Meaning)
		}
	}
	return nil
}

func meanings(lacks []backing.Lack) []string {
	all := make([]string, 0, len(lacks))
	for _, l := range lacks {
		all = append(all, l.Meaning)
	}
	return all
}
