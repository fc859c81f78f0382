//go:build race

package fusefs

// everyStep: where one thing is done after the other, only each eighth step is tried. The race detector makes all ten times
// slower, and finds nothing more in the next one.
const everyStep = 8
