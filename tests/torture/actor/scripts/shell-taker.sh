#!/usr/bin/env bash
# Takes parcels as scripts do: one program reads, another one removes, and the script is who has the claim.
set -u
. "$SIDE/lib.sh"
copy=$SIDE/copy-$ID why=$SIDE/why-$ID

# failed says how a command failed. What is not there, busy or on no mount was left alone.
failed() {
	if grep -qE 'No such file|Device or resource busy' "$why"; then say no; else say unsure; fi
}

# claim COMMAND…: the command reads the file. It succeeds if a parcel was read.
claim() {
	say note "$*"
	say claim "$rel"
	if ! "$@" >"$copy" 2>"$why"; then
		failed
		return 1
	fi
	said=$("$SELF" verify "$copy")
	say "$said"
	[ "$said" != "${said#ok }" ]
}
settle() {
	say settle "$rel" "${said#ok }"
	end_by "$@"
}
archive() {
	say archive "$rel" "q/done/$name.$ID" "${said#ok }"
	end_by mv "$file" "$ROOT/q/done/$name.$ID"
}
end_by() {
	if "$@" 2>"$why"; then say ok; else failed; fi
}
work() {
	say take "$rel" "q/work/$name"
	if ! mv "$file" "$ROOT/q/work/$name" 2>"$why"; then
		failed
		return 1
	fi
	say ok
	file=$ROOT/q/work/$name rel=q/work/$name
}
copied() { cp "$file" "$copy.cp" && cat "$copy.cp"; }
itself() { # the shell opens the file
	exec 4<"$file" && cat <&4
	local status=$?
	exec 4<&-
	return $status
}

while [ $SECONDS -lt "$end" ]; do
	there || continue
	shopt -s nullglob
	files=("$ROOT"/q/u/u-*.dat)
	[ ${#files[@]} -gt 0 ] || { pause; continue; }
	file=${files[RANDOM % ${#files[@]}]}
	name=${file##*/}
	rel=q/u/$name
	case $((RANDOM % 8)) in
	0 | 1) claim cat "$file" && settle rm "$file" ;;
	2) claim timeout 20 cat "$file" && settle rm "$file" ;;
	3) work && claim cat "$file" && settle rm "$file" ;;
	4) claim itself && settle rm "$file" ;;
	5) claim cat "$file" && archive ;;
	6) claim copied && settle unlink "$file" ;;
	7) [ $((RANDOM % 4)) -gt 0 ] || { claim cat "$file"; exit $((RANDOM % 2)); } ;;
	esac
	pause
done
rm -f "$copy" "$copy.cp" "$why"
