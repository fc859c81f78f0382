package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// report is what a run measured, as it is written to the JSON file. A figure
// that could not be measured is null.
type report struct {
	Machine  string              `json:"machine"`
	Rows     []measured          `json:"rows"`
	Requests map[string]requests `json:"requests"` // work → requests of one item, by opcode
	Failures []failure           `json:"failures"`
}

// measured is one row: medians over the rounds, and how airlockfs compares.
type measured struct {
	Work      string             `json:"work"`
	Amount    string             `json:"amount"` // of work per round ×rounds
	Unit      unit               `json:"unit"`
	Native    *float64           `json:"native"`
	Bindfs    *float64           `json:"bindfs"`
	Loopback  *float64           `json:"loopback"`
	Airlockfs *float64           `json:"airlockfs"`
	Best      map[string]float64 `json:"best"`     // configuration → best round
	Against   string             `json:"against"`  // the ratio's divisor; "": none
	Ratio     *float64           `json:"ratio"`    // median of the rounds' ratios
	Spread    []float64          `json:"spread"`   // smallest and largest of them
	Target    string             `json:"target"`   // "": none
	OK        *bool              `json:"ok"`       // null: no target or no ratio
	Distance  *float64           `json:"distance"` // share of the limit that is missing; negative: to spare
}

func newReport(rows []row, r *results) report {
	rep := report{Machine: machine(), Requests: r.requests, Failures: r.failures}
	for _, row := range rows {
		rep.Rows = append(rep.Rows, measure(row, r))
	}
	return rep
}

func measure(row row, r *results) measured {
	samples := r.samples[row.work]
	m := measured{
		Work: row.work, Amount: row.amount, Unit: row.unit,
		Native: medianOf(samples[native]), Bindfs: medianOf(samples[bindfs]),
		Loopback: medianOf(samples[loopback]), Airlockfs: medianOf(samples[airlockfs]),
		Best:    map[string]float64{},
		Against: row.against,
		Target:  row.target.describe(row.against),
	}
	for config, s := range samples {
		m.Best[config] = rounded(row.best(s))
	}
	m.compare(row, r.ratios(row.work, row.against))
	return m
}

func (m *measured) compare(row row, ratios []float64) {
	m.Ratio = medianOf(ratios)
	if m.Ratio == nil {
		return
	}
	m.Spread = []float64{rounded(slices.Min(ratios)), rounded(slices.Max(ratios))}
	if row.target.bound == unbound {
		return
	}
	ratio := median(ratios)
	met, distance := row.target.met(ratio), rounded(row.target.distance(ratio))
	m.OK, m.Distance = &met, &distance
}

func medianOf(samples []float64) *float64 {
	if len(samples) == 0 {
		return nil
	}
	m := rounded(median(samples))
	return &m
}

// rounded to a thousandth: beyond that a figure says nothing.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// write puts the report into the file at path, and makes its folder.
func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
