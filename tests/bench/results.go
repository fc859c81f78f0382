package main

import "slices"

// figures are what one configuration's part of one round measured, by work.
type figures map[string]float64

// failure is something that could not be measured.
type failure struct {
	Phase  string `json:"phase"`
	Config string `json:"config"`
	Reason string `json:"reason"`
}

// results collects the samples of a run. It is not for concurrent use.
//
// INVARIANT: within a phase a configuration that failed adds no more samples,
// so equal indexes of one work belong to the same round.
type results struct {
	samples  map[string]map[string][]float64 // work → configuration → per round
	requests map[string]requests             // work → requests of one item
	failures []failure
}

func newResults() *results {
	return &results{samples: map[string]map[string][]float64{}, requests: map[string]requests{}}
}

func (r *results) add(config string, f figures) {
	for work, value := range f {
		if r.samples[work] == nil {
			r.samples[work] = map[string][]float64{}
		}
		r.samples[work][config] = append(r.samples[work][config], value)
	}
}

func (r *results) fail(phase, config string, err error) {
	r.failures = append(r.failures, failure{phase, config, err.Error()})
}

// ratios divides the samples of airlockfs by those of the configuration
// against, round by round.
func (r *results) ratios(work, against string) []float64 {
	ours := r.samples[work][airlockfs]
	if against == "" {
		return ours
	}
	theirs := r.samples[work][against]
	ratios := make([]float64, min(len(ours), len(theirs)))
	for i := range ratios {
		ratios[i] = ours[i] / theirs[i]
	}
	return ratios
}

// median of the samples, which must not be empty.
func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	half := len(s) / 2
	if len(s)%2 == 1 {
		return s[half]
	}
	return (s[half-1] + s[half]) / 2
}
