#!/bin/bash
# Runs a script on a copy of this machine that nobody will miss:
#
#   machine.sh SCRIPT [ARG...]
#
# What is written goes to memory and away with it, processes end with it, and its network is its own. The script sees
# the files of this machine, may install packages, and finds in $CHANGED the files that it has changed, below their
# own names. Needs root.
set -eu
if [ "${1:-}" != --inside ]; then
	exec unshare --mount --net --pid --fork --kill-child --mount-proc "$BASH" "$0" --inside "$@"
fi
shift
mount --make-rprivate /
base=/mnt # of this name space only
mount -t tmpfs tmpfs "$base"
mkdir "$base"/{changed,work,root,files}
cp "$@" "$base/files/"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/changed,workdir=$base/work" "$base/root"
mount --rbind /dev "$base/root/dev"
mount -t proc proc "$base/root/proc"
for folder in tmp run; do mount -t tmpfs tmpfs "$base/root/$folder"; done
chmod 1777 "$base/root/tmp"
mkdir "$base/root/tmp"/{files,changed,lower}
mount --bind "$base/files" "$base/root/tmp/files"
mount --bind "$base/changed" "$base/root/tmp/changed"
mount --bind / "$base/root/tmp/lower"
ip link set lo up
unset TMPDIR # of the caller; in there is a /tmp without it
script=/tmp/files/$(basename "$1"); shift
args=()
for path; do args+=("/tmp/files/$(basename "$path")"); done
CHANGED=/tmp/changed BEFORE=/tmp/lower exec chroot "$base/root" /bin/bash "$script" "${args[@]}"
