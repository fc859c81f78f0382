#!/usr/bin/env bash
# Runs each fuzz target for FUZZTIME (default 10s).
set -euo pipefail
cd "$(dirname "$0")/.."
echo "== a random walk of the protocol, seed ${WALK_SEED:=$(date +%s%N)}"
WALK_SEED=$WALK_SEED WALK_STEPS=2000 go test -count=1 -run '^TestWalk$' ./protocol
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $file $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" "$(dirname "$file")"
	done
done
