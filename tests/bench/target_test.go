package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target   target
		ratio    float64
		met      bool
		distance float64
	}{
		{atMost(1.2), 1.2, true, 0},
		{atMost(1.2), 1.5, false, 0.25},
		{atMost(1.2), 0.6, true, -0.5},
		{atLeast(2), 2, true, 0},
		{atLeast(2), 1.5, false, 0.25},
		{atLeast(2), 3, true, -0.5},
		{atMost(0), 0, true, 0},
		{atMost(0), 3, false, 3},
		{target{}, 7, true, 0},
	} {
		assert.Equal(t, c.met, c.target.met(c.ratio), "%+v", c)
		assert.InDelta(t, c.distance, c.target.distance(c.ratio), 1e-9, "%+v", c)
	}
}

func TestTargetInWords(t *testing.T) {
	assert.Equal(t, "≤ 1.2 × bindfs", atMost(1.2).describe(bindfs))
	assert.Equal(t, "≥ 0.8", atLeast(0.8).describe(""))
	assert.Empty(t, target{}.describe(native))
}
