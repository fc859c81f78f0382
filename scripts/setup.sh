#!/usr/bin/env bash
# Installs what the tests need, where apt-get can; else says what is missing. Fails if something stays missing. No service
# is started: the tests run the servers they need themselves.
set -euo pipefail

# command:package
needs=(stress-ng:stress-ng fio:fio git:git gcc:gcc fusermount3:fuse3 python3:python3 rsync:rsync flock:util-linux setpriv:util-linux unshare:util-linux
       getfattr:attr setfacl:acl setcap:libcap2-bin jq:jq tar:tar sqlite3:sqlite3 strace:strace groff:groff-base bindfs:bindfs ip:iproute2 curl:curl lftp:lftp
       sshd:openssh-server sftp:openssh-client smbd:samba smbclient:smbclient vsftpd:vsftpd
       script:bsdutils nsenter:util-linux sudo:sudo cron:cron file:file less:less parallel:parallel inotifywait:inotify-tools
       zip:zip unzip:unzip xz:xz-utils zstd:zstd vim:vim nano:nano ed:ed patch:patch perl:perl wget:wget aria2c:aria2
       logrotate:logrotate systemd-analyze:systemd mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs)
# The same for programs whose packages exclude one of those above.
beside=(proftpd:proftpd-core)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

missing=()
for need in "${needs[@]}"; do
	command -v "${need%%:*}" >/dev/null || missing+=("${need##*:}")
done
/usr/bin/python3 -c 'import samba' 2>/dev/null || missing+=(python3-samba)
[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)

# install keeps the services of new packages from starting: policy-rc.d (see invoke-rc.d(8)) forbids it meanwhile.
install() {
	local policy=/usr/sbin/policy-rc.d ours=
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		ours=$policy
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" libc6-dev >/dev/null || true
	[ -z "$ours" ] || rm -f "$ours"
}

# unpack COMMAND PACKAGE puts a package's files where they are in nobody's way, and installs the libraries it needs.
unpack() {
	local dir=/usr/local/lib/airlockfs-tests/$2 download libraries
	download=$(mktemp -d)
	chmod 777 "$download" # apt-get downloads as a user of its own
	mapfile -t libraries < <(apt-cache depends "$2" | sed -n 's/^ *Depends: \(lib[^ <>]*\)$/\1/p')
	install "${libraries[@]}"
	(cd "$download" && apt-get download -qq "$2")
	mkdir -p "$dir" /usr/local/sbin
	dpkg-deb -x "$download"/*.deb "$dir"
	ln -sf "$dir/usr/sbin/$1" "/usr/local/sbin/$1"
	rm -r "$download"
}

# The lists of packages may be old, or not there at all.
can_install() { command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] && apt-get update -qq; }
if [ ${#missing[@]} -gt 0 ] && can_install; then
	echo "installing ${missing[*]}"
	install "${missing[@]}"
fi
for need in "${beside[@]}"; do
	if ! command -v "${need%%:*}" >/dev/null && can_install; then
		echo "unpacking ${need##*:}"
		unpack "${need%%:*}" "${need##*:}"
	fi
done
for need in "${needs[@]}" "${beside[@]}"; do
	command -v "${need%%:*}" >/dev/null || { echo "setup: ${need%%:*} is missing: install the package ${need##*:}" >&2; exit 1; }
done
/usr/bin/python3 -c 'import samba' || { echo "setup: python's samba is missing: install the package python3-samba" >&2; exit 1; }
[ -e /usr/share/bash-completion/bash_completion ] || { echo "setup: install the package bash-completion" >&2; exit 1; }
[ -e /dev/fuse ] || { echo "setup: there is no /dev/fuse: load the fuse module, or give this container the device" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "setup: the end-to-end tests mount and act as several users: run them as root" >&2; exit 1; }
