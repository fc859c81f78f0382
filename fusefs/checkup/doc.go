// Package checkup looks at a backing for what should never be on its disk. It changes nothing, and it needs no daemon;
// where one serves the backing, states that are normal for a moment are no findings.
//
// The table in kinds.go says what can be found. Where the code finds it: control.go (the control folder and its areas),
// registry.go (the folders' keys), places.go and items.go (private items), replaced.go and public.go.
package checkup
