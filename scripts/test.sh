#!/usr/bin/env bash
# All tests, as `make test` and CI run them. Says what it does, stops at the first failure, leaves no mount.
set -euo pipefail
cd "$(dirname "$0")/.."
export GORACE=atexit_sleep_ms=0
umask 022 # other users run what is built

step() { printf '\n== %s (%ds)\n' "$*" "$SECONDS"; }

step conventions
test -z "$(gofmt -l .)" || { gofmt -l .; echo "gofmt these"; exit 1; }
go vet ./...
go vet -tags slowrelease,failpoints ./...

# A disk that fails at every third call is enough here, and at every seventh where that has been seen.
export AIRLOCKFS_FAULTS=3
step "all tests"
go test -p 1 -count=1 -timeout 20m ./...

export AIRLOCKFS_FAULTS=7
step "the race detector: rules, disk, callers, connection, desk"
go test -race -count=1 -timeout 20m ./protocol ./backing ./fusefs/... ./cmd/...

# What only compares with another filesystem, waits for a long time, or does one thing after the other many times over, was
# seen above.
real='Zoo|AnOrdinaryFilesystem|TenThousandLocks|Stressors|Fio|FoldersDeviate|Example|Idle|PowerCut|KilledBefore|AMillionFiles|HoweverMany|OnOtherFilesystems'

step "end to end under the race detector"
go test -race -count=1 -timeout 20m -skip "$real" ./tests

# The next step tries I7; I8 has been compared with other filesystems.
step "one processor: the guarantees"
GOMAXPROCS=1 go test -p 1 -count=1 -timeout 20m -skip 'Crash|PowerCut|Edits|LittleRoom' ./fusefs/...
GOMAXPROCS=1 go test -count=1 -timeout 20m -run '^TestI[1-6]_' -skip "$real" ./tests

step "delayed ends of descriptors"
# Three tests measure how fast a claim comes back, or have very many files closed, which is what the tag slows down. The others
# do nothing but wait for it, so many of them can at once.
AIRLOCKFS_TAGS=slowrelease go test -count=1 -timeout 20m -parallel 16 -run 'TestI7' -skip 'Within20Milliseconds|StoppedClients|NotStarved' ./tests

step "torture"
make torture SECONDS=60

step "a mount that enforces nothing must fail"
scripts/red.sh

step "nothing is left"
if grep -q 'fuse.airlockfs' /proc/mounts; then
	grep 'fuse.airlockfs' /proc/mounts
	echo "mounts are left behind"
	exit 1
fi
echo ok
