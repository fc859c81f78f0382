package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var produceRow = row{workProduce, micros, "3", bindfs, atMost(1.2)}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	r := newResults()
	for _, round := range [][2]float64{{100, 110}, {200, 300}, {1000, 1200}} {
		r.add(bindfs, figures{workProduce: round[0]})
		r.add(airlockfs, figures{workProduce: round[1]})
	}
	m := measure(produceRow, r)
	assert.InDelta(t, 200, *m.Bindfs, 0)
	assert.InDelta(t, 110, m.Best[airlockfs], 0)
	assert.InDelta(t, 1.2, *m.Ratio, 1e-9)
	assert.Equal(t, []float64{1.1, 1.5}, m.Spread)
	assert.True(t, *m.OK)
	assert.Nil(t, m.Native)
}

func TestWithoutOursNothingIsClaimed(t *testing.T) {
	r := newResults()
	r.add(bindfs, figures{workProduce: 100})
	r.fail("hand-off", airlockfs, errors.New("mount failed"))
	r.fail("bulk", airlockfs, errors.New("mount failed"))
	rep := newReport([]row{produceRow}, r)

	path := filepath.Join(t.TempDir(), "bin", "bench.json")
	require.NoError(t, rep.write(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var read struct{ Rows []map[string]any }
	require.NoError(t, json.Unmarshal(text, &read))
	for _, key := range []string{"airlockfs", "ratio", "spread", "ok", "distance"} {
		assert.Contains(t, read.Rows[0], key)
		assert.Nil(t, read.Rows[0][key], key)
	}

	var page bytes.Buffer
	require.NoError(t, rep.print(&page))
	assert.Contains(t, page.String(), "not measured")
	assert.Contains(t, page.String(), "NOT MEASURED: airlockfs (hand-off, bulk): mount failed")
}

func TestBestFollowsTheDirection(t *testing.T) {
	samples := []float64{2, 1, 3}
	assert.InDelta(t, 1, row{unit: micros}.best(samples), 0)
	assert.InDelta(t, 3, row{unit: mibPerSecond}.best(samples), 0)
	assert.InDelta(t, 3, row{unit: plainRatio, target: atLeast(0.8)}.best(samples), 0)
}

func TestMedian(t *testing.T) {
	assert.InDelta(t, 2, median([]float64{3, 1, 2}), 0)
	assert.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
}

// Every row's work must be one that a phase measures; bench_test.go checks the
// figures that arrive.
func TestBudgetNamesDistinctRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range budget(quickPlan()) {
		key := r.work + r.against
		assert.False(t, seen[key], key)
		seen[key] = true
	}
}
