// Command airlockfs mounts a folder so that files are handed over through it safely, and tells what goes on in the mount.
//
// There is one command per file, in newXCommand. A command parses, calls the packages that do the work, and prints;
// what it knows about a living mount it reads from the mount's control files (package report).
package main
