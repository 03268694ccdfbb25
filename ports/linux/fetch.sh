#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/linux/fetch.sh [BUILD-FOLDER [FLAVOUR]]: the kernel of a Linux node that Tacet is compared with: one
# of Debian's current ones, unpacked and not installed. FLAVOUR names it and the folder that it goes to:
#
#   stock   what linux-image-amd64 stands for, in BUILD-FOLDER/linux (the default)
#   rt      what linux-image-rt-amd64 stands for, PREEMPT_RT, in BUILD-FOLDER/linux-rt
#
# Makes `vmlinuz`, `vmlinux` (the same without its compression, see extract.py), `config` (what it was built
# with) and `version` there. The first time needs the network, later ones only the cache; remove the cache's
# folder of the same name for a newer kernel. Exits 3, with one line on stderr, when it is not available, and
# 2 for a flavour there is not.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
flavour=${2:-stock}
. "$here/../apt.sh"

case $flavour in
stock) name=linux package=linux-image-amd64 pattern='linux-image-[0-9].*' ;;
rt) name=linux-rt package=linux-image-rt-amd64 pattern='linux-image-[0-9].*' ;;
*) echo "ports/linux/fetch.sh: no such flavour: $flavour (stock, rt)" >&2 && exit 2 ;;
esac

mkdir -p "$build"
build=$(cd "$build" && pwd)
linux=$build/$name
[ ! -f "$linux/version" ] || exit 0

debs_cached $name || debs_get_matching $name "$pattern" $package
deb=$(echo "$cache"/$name/linux-image-*.deb)
rm -rf "$linux"
mkdir -p "$linux"
dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$linux" --wildcards --strip-components=2 './boot/vmlinuz-*' './boot/config-*'
mv "$linux"/vmlinuz-* "$linux/vmlinuz"
mv "$linux"/config-* "$linux/config"
"$here/extract.py" "$linux/vmlinuz" "$linux/vmlinux" || rm -f "$linux/vmlinux" # the runner then takes vmlinuz
dpkg-deb --showformat '${Package} ${Version}\n' --show "$deb" >"$linux/version.part"
mv "$linux/version.part" "$linux/version"
