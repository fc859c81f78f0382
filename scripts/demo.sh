#!/usr/bin/env bash
# What stock programs see on a mount: files that are half written, writers and workers that are killed, a daemon that is
# killed. Ends with an error if one of them sees what it should not. Usage: scripts/demo.sh BIN
set -euo pipefail
bin=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/airlockfs-demo-XXXXXX")
export M=$work/drop
declare -A player

cleanup() {
	for pid in "${player[@]}"; do kill -KILL -- "-$pid" 2>/dev/null || true; done
	if grep -q " $M " /proc/mounts; then "$bin" umount --lazy "$M" || true; fi
	wait 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT

fail() { echo "demo: $*" >&2; tail -n 5 "$work/log" >&2 || true; exit 1; }

# serve returns when the mount serves.
serve() { "$bin" mount --log "$work/log" --log-level debug "$work/backing" "$M" >>"$work/log" || fail "the mount did not come"; }

# expect WANT COMMAND…: what a program that belongs to nobody else here sees (a session of its own), line by line. WANT
# is a regular expression that its whole output must match.
expect() {
	local want=$1 got
	shift
	got=$(setsid --wait timeout -s KILL 10 "$@" 2>&1) || true
	got=${got//"$work/"/}
	printf '  $ %s\n' "$(sed "s|$work/||g; s|^$bin|airlockfs|" <<<"$*")"
	if [ -n "$got" ]; then printf '%s\n' "$got" | sed 's/^/    /'; fi
	[[ $got =~ ^$want$ ]] || fail "expected: $want"
}

# play NAME SCRIPT: a program that goes on beside us, in a session of its own. Where its script says `pause`, it waits
# for `goes_on NAME`; when play returns it has come to its first pause.
play() {
	mkfifo "$work/$1.come" "$work/$1.go"
	COME="$work/$1.come" GO="$work/$1.go" setsid bash -c 'pause() { echo >"$COME"; read -r _ <"$GO"; }
'"$2" >"$work/$1.out" 2>&1 &
	player[$1]=$!
	comes "$1"
}
comes() { timeout -s KILL 10 cat "$work/$1.come" >/dev/null || fail "$1 does not get on: $(cat "$work/$1.out")"; }
goes_on() { timeout -s KILL 10 tee "$work/$1.go" <<<"" >/dev/null || fail "$1 does not listen"; }
ends() {
	wait "${player[$1]}" || true
	unset "player[$1]"
}
kill_it() {
	kill -KILL -- "-${player[$1]}"
	ends "$1" 2>/dev/null
}
title() { printf '\n== %s\n' "$*"; }

mkdir "$work/backing" "$M"
serve

title "a file is written slowly"
play writer 'exec 3>"$M/report.csv"; echo "id,amount" >&3; pause; echo "7,120.00" >&3'
echo "  # the writer has written one line, and has the file open"
expect '' ls "$M"
expect '.*No such file or directory' cat "$M/report.csv"
expect '.*open for writing.*' "$bin" why "$M/report.csv"
goes_on writer
ends writer
echo "  # it has written the second line, and closed it"
expect 'report.csv' ls "$M"
expect $'id,amount\n7,120.00' cat "$M/report.csv"

title "a writer is killed"
play writer2 'exec 3>"$M/invoice.xml"; echo "<invoice>" >&3; pause; echo "</invoice>" >&3'
kill_it writer2
expect '.*No such file or directory' cat "$M/invoice.xml"
expect '.*killed by signal 9.*airlockfs requeue .*' "$bin" why "$M/invoice.xml"
expect '.*discarded.*' "$bin" discard --yes "$M/invoice.xml"

title "two workers want the same file"
for n in 1 2; do
	play "worker$n" 'pause; if exec 3<"$M/report.csv"; then echo "worker '$n' has it: $(head -n 1 <&3)"; else echo "worker '$n' has nothing"; fi; pause'
done
goes_on worker1 & goes_on worker2
comes worker1
comes worker2
sed "s|$work/||; s|^|    |" "$work/worker1.out" "$work/worker2.out"
[ "$(grep -h 'has it: id,amount' "$work"/worker?.out | wc -l)" = 1 ] || fail "one of them should have it"
winner=worker1 loser=worker2
grep -q 'has it' "$work/worker1.out" || { winner=worker2 loser=worker1; }
expect '' ls "$M"

title "the worker that has it is killed"
kill_it "$winner"
goes_on "$loser"
ends "$loser"
expect 'report.csv' ls "$M"
expect $'id,amount\n7,120.00' cat "$M/report.csv"

title "airlockfs itself is killed while a worker works"
play worker3 'exec 3<"$M/report.csv"; cat <&3; pause; rm "$M/report.csv" && echo done; pause'
daemon=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$M/.airlockfs/mount")
kill -KILL "$daemon"
timeout 5 bash -c 'while [ -e "/proc/$0/fd/0" ]; do :; done' "$daemon" || fail "the daemon does not die"
serve
echo "  # mounted again; the worker lives, so the file is still its own"
expect '' ls "$M"
expect '.*No such file or directory' cat "$M/report.csv"
goes_on worker3
comes worker3
echo "  # it has removed the file: done"
grep -qx done "$work/worker3.out" || fail "the worker lost its file: $(cat "$work/worker3.out")"
goes_on worker3
ends worker3
expect '' ls "$M"

"$bin" umount "$M" || fail "the mount stays busy"
printf '\nAll as it should be.\n'
