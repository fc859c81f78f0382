#!/usr/bin/env bash
# The end-to-end tests of the protocol on mounts that enforce nothing: a test that passes there tests nothing. Those that
# may pass are in tests/control.txt, each with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# names prints the tests, without subtests, that ended so.
names() { sed -n "s/^--- $1: \([A-Za-z0-9_]*\).*/\1/p" "$out" | sort -u; }
# complain TEXT NAMES fails with a list, if there is one.
complain() {
	[ -z "$2" ] || { printf 'red: %s:\n%s\n' "$1" "$2" >&2; exit 1; }
}

go test -count=1 -timeout 20m -parallel 8 ./tests -plain -patience 1s -v >"$out" 2>&1 || true
go test -count=1 -timeout 20m ./tests/servers -plain -v >>"$out" 2>&1 || true
allowed=$(sed 's/ *#.*//; /^$/d' tests/control.txt | sort -u)
all=$(go test -list . ./tests ./tests/servers | grep '^Test' | sort -u)
failed=$(names FAIL | wc -l)
missing=$(comm -13 <({ names PASS; names FAIL; } | sort -u) <(echo "$all"))
if [ -n "$missing" ]; then tail -n 20 "$out"; fi
complain "these tests did not come to an end" "$missing"
complain "tests/control.txt lists tests that are not there" "$(comm -13 <(echo "$all") <(echo "$allowed"))"
complain "these tests pass although nothing is enforced; make them able to fail, or give a reason in tests/control.txt" \
	"$(comm -23 <(names PASS) <(echo "$allowed"))"
echo "red: $failed tests fail on a mount that enforces nothing, as they should; $(names PASS | wc -l) controls pass"

go build -o "$out.torture" ./tests/torture
trap 'rm -f "$out" "$out.torture"' EXIT
if "$out.torture" --on plain --seconds 8 >"$out"; then
	complain "the torture run passes although nothing is enforced" "$(cat "$out")"
fi
for wrong in torn 'taken by two' 'not linearizable'; do
	grep -q "^ *[1-9][0-9]*  $wrong\$" "$out" || complain "the torture run on a mount that enforces nothing did not find" "$wrong"
done
echo "red: the torture run finds what a mount that enforces nothing does"
