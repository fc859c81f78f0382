#!/usr/bin/env bash
# Installs a binary with its manual pages, completions and the link that mount(8) looks for.
# Usage: scripts/install.sh BIN DESTDIR PREFIX
set -euo pipefail
bin=$1 destdir=$2 prefix=$3
share=$destdir$prefix/share

install -D -m 755 "$bin" "$destdir$prefix/bin/airlockfs"
"$bin" man "$share/man/man8"

# completion SHELL FILE
completion() {
	install -d "$(dirname "$share/$2")"
	"$bin" completion "$1" >"$share/$2"
}
completion bash bash-completion/completions/airlockfs
completion zsh zsh/site-functions/_airlockfs
completion fish fish/vendor_completions.d/airlockfs.fish

if ! { install -d "$destdir/sbin" && ln -sfn "$prefix/bin/airlockfs" "$destdir/sbin/mount.airlockfs"; } 2>/dev/null; then
	echo "$destdir/sbin/mount.airlockfs could not be made: mount(8) and fstab(5) don't know airlockfs" >&2
fi
