#!/usr/bin/env bash
# Mounts a drop folder and says what to try. Usage: scripts/run.sh BACKING MOUNT
set -euo pipefail
backing=$1 mount=$2
bin=bin/airlockfs # as make runs this

[ -e /dev/fuse ] || { echo "There is no /dev/fuse. Load the kernel's fuse module (modprobe fuse), or give this container the device." >&2; exit 1; }
mkdir -p -- "$backing" "$mount"
"$bin" mount -- "$backing" "$mount"

# What is printed can be typed, whatever the paths hold.
at=$(printf %q "$mount")
file=$(printf %q "$mount/report.csv")
tool=$(printf %q "$bin")
cat <<TXT

$mount is mounted; its files lie in $backing. Try, in two terminals:

  # writes for 20 seconds; the other terminal sees nothing until the file is complete
  (exec 3>$file; echo half >&3; sleep 20; echo rest >&3)
  ls $at; cat $file

  # a worker that reads it: it is claimed, and is not there for another one
  setsid bash -c 'exec 3<"\$1"; sleep 20' worker $file
  setsid cat $file

  # who holds what, and why something is hidden; what happened last
  $tool status $at
  $tool why $file
  $tool events $at

  # when you are done
  $tool umount $at
TXT
