package main

import "strings"

// didYouMean asks for the known word that a misspelt one is close to, or else lists them.
func didYouMean(word string, known []string) string {
	if best := closest(word, known); best != "" {
		return "did you mean " + best + "?"
	}
	return "use one of " + strings.Join(known, ", ")
}

// closest is the known word that a misspelt one probably stands for, "" if there is none.
func closest(word string, known []string) (best string) {
	distance := 2 + len(word)/4
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, remove or replace that make a word another one.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // the distances of the part of a so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := before
			if a[i] != b[j] {
				replace++
			}
			before = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
