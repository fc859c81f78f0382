//go:build !race

package fusefs

// everyStep: a crash is tried at each step.
const everyStep = 1
