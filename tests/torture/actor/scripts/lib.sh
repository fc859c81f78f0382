# What the shell actors share. Sourced with ROOT, SIDE, LOG, SELF, ID, SEED and LIFE set.
RANDOM=$SEED
end=$((SECONDS + LIFE))

# say writes a step down, with the time of the wall clock in microseconds.
say() { printf 'w%s %s\n' "${EPOCHREALTIME/[.,]/}" "$*" >>"$LOG"; }

# pause waits a little: nothing ever comes from standard input.
pause() { read -rt "0.0$((RANDOM % 4 + 1))" || true; }

# there waits for the mount.
there() { [ -d "$ROOT/q/u" ] || { pause; return 1; }; }
