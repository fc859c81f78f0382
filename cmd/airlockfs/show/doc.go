// Package show writes things for people, and for programs: names that may hold anything, numbers, tables that fit the
// terminal, JSON. It knows nothing of what the commands are about but who owns something.
package show
