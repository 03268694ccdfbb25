#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/linux/fetch.sh [BUILD-FOLDER]: the kernel of the Linux node that Tacet is compared with: Debian's current one
# (what linux-image-amd64 stands for), unpacked and not installed. Makes BUILD-FOLDER/linux/vmlinuz, `vmlinux` (the
# same without its compression, see extract.py), `config` (what it was built with) and `version`.
#
# The first time needs the network, later ones only the cache; remove the cache's folder `linux` for a newer kernel.
# Exits 3, with one line on stderr, when it cannot be had.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
. "$here/../apt.sh"

mkdir -p "$build"
build=$(cd "$build" && pwd)
linux=$build/linux
[ ! -f "$linux/version" ] || exit 0

debs_cached linux || debs_get_alone linux linux-image-amd64 'linux-image-[0-9].*'
deb=$(echo "$cache"/linux/linux-image-*.deb)
rm -rf "$linux"
mkdir -p "$linux"
dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$linux" --wildcards --strip-components=2 './boot/vmlinuz-*' './boot/config-*'
mv "$linux"/vmlinuz-* "$linux/vmlinuz"
mv "$linux"/config-* "$linux/config"
"$here/extract.py" "$linux/vmlinuz" "$linux/vmlinux" || rm -f "$linux/vmlinux" # the runner then takes vmlinuz
dpkg-deb --showformat '${Package} ${Version}\n' --show "$deb" >"$linux/version.part"
mv "$linux/version.part" "$linux/version"
