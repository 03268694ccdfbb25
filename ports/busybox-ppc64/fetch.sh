#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/busybox-ppc64/fetch.sh [BUILD-FOLDER]: Debian's static busybox for POWER, little-endian, unpacked and
# not installed, as BUILD-FOLDER/ppc64/busybox. The package is the one that the recipe pins, of whatever
# architecture the machine is; the first time needs the network, later ones only the cache.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
mkdir -p "$build/ppc64"
busybox=$(cd "$build/ppc64" && pwd)/busybox
[ ! -f "$busybox" ] || [ "$busybox" -ot "$here/recipe" ] || exit 0

deb=$("$here/../fetch.py" busybox-ppc64)
dpkg-deb --fsys-tarfile "$deb" | tar -x -O --wildcards './*bin/busybox' >"$busybox.part"
chmod +x "$busybox.part"
mv "$busybox.part" "$busybox"
