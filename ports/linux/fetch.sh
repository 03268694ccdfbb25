#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/linux/fetch.sh [BUILD-FOLDER [FLAVOUR]]: the kernel of a Linux node that Tacet is compared with: one
# of Debian's current ones, unpacked and not installed. FLAVOUR names it and the folder that it goes to:
#
#   stock   what linux-image-amd64 stands for, in BUILD-FOLDER/linux (the default)
#   rt      what linux-image-rt-amd64 stands for, PREEMPT_RT, in BUILD-FOLDER/linux-rt
#   ppc64   the one for POWER that ports/linux-ppc64/recipe pins, in BUILD-FOLDER/linux-ppc64
#
# Makes `vmlinuz` and `vmlinux` (the same without its compression, see extract.py; POWER's package has only
# the latter), `config` (what it was built with), `modules` (network cards, the client of file servers:
# tools/qemu/linux_network.py) and `version` there. The first time needs the network, later ones only the
# cache; remove the cache's folder of the same name for a newer kernel. Exits 3, with one line on stderr, when
# it is not available, 1 when the pinned one is not, and 2 for a flavour there is not.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
flavour=${2:-stock}
. "$here/../apt.sh"

case $flavour in
stock) name=linux package=linux-image-amd64 pattern='linux-image-[0-9].*' ;;
rt) name=linux-rt package=linux-image-rt-amd64 pattern='linux-image-[0-9].*' ;;
ppc64) name=linux-ppc64 package='' pattern='' ;;
*) echo "ports/linux/fetch.sh: no such flavour: $flavour (stock, rt, ppc64)" >&2 && exit 2 ;;
esac

mkdir -p "$build"
build=$(cd "$build" && pwd)
linux=$build/$name
[ ! -f "$linux/version" ] || [ ! -d "$linux/modules" ] || exit 0

modules='e1000 e1000e igb 9p 9pnet 9pnet_fd'
needed='ptp pps_core dca i2c-algo-bit netfs fscache' # what those depend on, as far as it is a module

if [ -z "$package" ]; then
    deb=$("$here/../fetch.py" $name)
else
    debs_cached $name || debs_get_matching $name "$pattern" $package
    deb=$(echo "$cache"/$name/linux-image-*.deb)
fi
rm -rf "$linux"
mkdir -p "$linux/modules"
patterns=$(for module in $modules $needed; do echo "./*lib/modules/*/$module.ko*"; done)
# In one pass: to decompress the package takes most of the time. tar's status is 2 if a pattern fits nothing:
# what one kernel has as a module, another has built in.
set -f
dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$linux" --wildcards --transform 's|^\./boot/||' \
        --transform 's|.*/\([^/]*\.ko\)|modules/\1|' ./boot/vmlinu[xz]-* ./boot/config-* $patterns \
        2>/dev/null || true
set +f
[ -n "$(find "$linux" -maxdepth 1 -name 'vmlinu[xz]-*')" ] ||
    { echo "ports/linux/fetch.sh: there is no kernel in $deb" >&2 && exit 1; }
[ -z "$(find "$linux/modules" -name '*.xz')" ] || xz -d "$linux"/modules/*.xz
mv "$linux"/config-* "$linux/config"
if [ $flavour = ppc64 ]; then
    mv "$linux"/vmlinux-* "$linux/vmlinux"
else
    mv "$linux"/vmlinuz-* "$linux/vmlinuz"
    # Without it the runner takes vmlinuz.
    "$here/extract.py" "$linux/vmlinuz" "$linux/vmlinux" || rm -f "$linux/vmlinux"
fi
dpkg-deb --showformat '${Package} ${Version}\n' --show "$deb" >"$linux/version.part"
mv "$linux/version.part" "$linux/version"
