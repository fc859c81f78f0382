#!/usr/bin/env bash
# Produces parcels as scripts do.
set -u
. "$SIDE/lib.sh"

# publish COMMAND…: the command makes the file appear.
publish() {
	say publish "$rel" "$parcel"
	if "$@" 2>/dev/null; then say ok; else say unsure; fi
}
redirect() { cat "$src" >"$file"; }
group() { { head -c "$half"; pause </dev/null; tail -c "+$((half + 1))" "$src"; } <"$src" >"$file"; }
through_tee() { tee "$file" <"$src" >/dev/null; }
append() { cat "$src" >>"$file"; } # nobody else has the name

n=0
while [ $SECONDS -lt "$end" ]; do
	there || continue
	n=$((n + 1))
	parcel=u-$ID-$n rel=q/u/u-$ID-$n.dat
	src=$SIDE/$parcel.dat file=$ROOT/$rel
	"$SELF" parcel "$parcel" $((RANDOM % 20000)) >"$src" || continue
	half=$(($(stat -c %s "$src") / 2))
	case $((RANDOM % 10)) in
	0) publish redirect ;;
	1) cat "$src" >"$file.tmp" 2>/dev/null && publish mv "$file.tmp" "$file" ;;
	2) publish cp "$src" "$file" ;;
	3) publish mv "$src" "$file" ;;
	4) publish rsync -q "$src" "$ROOT/q/u/" ;;
	5) publish group ;;
	6) cat "$src" >"$file.part" 2>/dev/null && publish ln "$file.part" "$file" && rm "$file.part" ;;
	7) publish through_tee ;;
	8) publish dd if="$src" of="$file" bs=1000 status=none ;;
	9) publish append ;;
	esac
	rm -f "$src"
	pause
done
