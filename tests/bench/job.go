package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// job is what a worker is told to do, one JSON document per line.
type job struct {
	Op     string
	Dir    string // folder worked in
	Prefix string // of the names: PREFIX-000000 …
	Count  int    // how many of them, or how many calls
	Bytes  int    // in all
	Block  int    // bytes of one read or write
	Held   []int  // how many locks are held beside
	Aside  string // claim by renaming to this folder; "": by opening
}

// reply is a worker's answer to one job.
type reply struct {
	Times []time.Duration // what was timed, in the op's own meaning
	Count int
	Names []string
	Text  string

	Begin, End time.Duration // on the clock all processes share, CLOCK_MONOTONIC

	Error string // not empty: the job failed, the rest means nothing
}

// paths of the job's files, in order.
func (j job) paths() []string {
	paths := make([]string, j.Count)
	for i := range paths {
		paths[i] = filepath.Join(j.Dir, fmt.Sprintf("%s-%06d", j.Prefix, i))
	}
	return paths
}

// path of the job's only file.
func (j job) path() string { return filepath.Join(j.Dir, j.Prefix) }

// unfinished is the name a file has while it is written; by its suffix every
// consumer knows to leave it alone, and airlockfs hides it.
func unfinished(path string) string { return path + ".tmp" }

// perUnit spreads d over n units, in µs.
func perUnit(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Microsecond) / float64(n)
}

// throughput in MiB/s.
func throughput(bytes int, d time.Duration) float64 {
	return float64(bytes) / mib / d.Seconds()
}
