package main

import (
	"fmt"
	"strings"
)

// unit of a row's figures. Units per second are rates: more is better.
type unit string

const (
	micros            unit = "µs"
	microsPerName     unit = "µs/name"
	mibPerSecond      unit = "MiB/s"
	triesPerSecond    unit = "tries/s"
	handoffsPerSecond unit = "items/s"
	plainRatio        unit = "ratio"
	claims            unit = "claims"
)

func (u unit) rate() bool { return strings.HasSuffix(string(u), "/s") }

type bound int

const (
	unbound bound = iota
	upper
	lower
)

// target is the limit a median ratio is held against; the zero target is none.
type target struct {
	bound bound
	limit float64
}

func atMost(limit float64) target  { return target{upper, limit} }
func atLeast(limit float64) target { return target{lower, limit} }

func (t target) met(ratio float64) bool {
	switch t.bound {
	case upper:
		return ratio <= t.limit
	case lower:
		return ratio >= t.limit
	default:
		return true
	}
}

// distance is how far ratio misses the limit, as a share of the limit; negative
// when it is met with room to spare. A limit of 0 has no shares: there it is
// the ratio itself.
func (t target) distance(ratio float64) float64 {
	switch {
	case t.bound == unbound:
		return 0
	case t.limit == 0:
		return ratio
	case t.bound == upper:
		return ratio/t.limit - 1
	default:
		return 1 - ratio/t.limit
	}
}

// describe says the target in words, for figures that are divided by those of
// the configuration against ("": by nothing).
func (t target) describe(against string) string {
	sign := map[bound]string{upper: "≤", lower: "≥"}[t.bound]
	switch {
	case t.bound == unbound:
		return ""
	case against == "":
		return fmt.Sprintf("%s %g", sign, t.limit)
	default:
		return fmt.Sprintf("%s %g × %s", sign, t.limit, against)
	}
}
