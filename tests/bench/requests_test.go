package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRequestsOfOneItem(t *testing.T) {
	before, err := parseRequests(`{"LOOKUP": 10, "OPEN": 3}`)
	require.NoError(t, err)
	after, err := parseRequests(`{"LOOKUP": 41, "OPEN": 4, "READ": 20}`)
	require.NoError(t, err)

	each := after.minus(before).minus(requests{"LOOKUP": 1, "OPEN": 1}).per(10)
	assert.Equal(t, requests{"LOOKUP": 3, "READ": 2}, each)
	assert.InDelta(t, 5, each.sum(), 1e-9)
}

func TestParseRequestsRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", `{"OPEN": -1}`, `{"OPEN": "1"}`} {
		_, err := parseRequests(text)
		assert.ErrorContains(t, err, requestTotals, text)
	}
}

func FuzzParseRequests(f *testing.F) {
	f.Add(`{"LOOKUP": 3}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRequests(text)
		if err == nil {
			assert.GreaterOrEqual(t, r.sum(), 0.0)
			assert.Empty(t, r.minus(r))
		}
	})
}
