#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/qemu/fetch.sh [BUILD-FOLDER [ARCH]]: QEMU 10, unpacked and not installed, as BUILD-FOLDER/qemu10, or
# for the architecture ppc64 as BUILD-FOLDER/qemu10-ppc64. Debian 12 has it in its backports. A Linux node of
# two CPUs needs it: QEMU 7.2 hangs with them under -icount.
#
# Nothing happens where the system's QEMU is new enough, or where it has been unpacked before. The first time
# needs the network, later ones only the cache. Exits 3, with one line on stderr, when QEMU 10 is not
# available.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
arch=${2:-x86_64}
. "$here/../apt.sh"

case $arch in
x86_64) name=qemu10 emulator=qemu-system-x86_64 packages='qemu-system-x86 seabios ipxe-qemu' ;;
ppc64) name=qemu10-ppc64 emulator=qemu-system-ppc64 packages='qemu-system-ppc seabios ipxe-qemu' ;;
*) echo "ports/qemu/fetch.sh: no such architecture: $arch (x86_64, ppc64)" >&2 && exit 2 ;;
esac

major()
{
    "$1" --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p'
}

installed=$(major $emulator || true)
[ "${installed:-0}" -lt 10 ] || exit 0
[ "$(uname -m)" = x86_64 ] || unavailable "packages are taken for x86_64 hosts only, this is $(uname -m)"

mkdir -p "$build"
build=$(cd "$build" && pwd)
qemu=$build/$name
[ "$(cat "$qemu/version" 2>/dev/null)" = "" ] || exit 0

# The wrapper finds its own folder, so that the build folder may move.
unpack()
{
    debs_unpack $name "$qemu"
    mkdir -p "$qemu/bin"
    cat >"$qemu/bin/$emulator" <<'END'
#!/bin/sh
# Made by ports/qemu/fetch.sh: run the QEMU unpacked beside this file with its own libraries, modules, ROMs.
this=$(readlink -f "$0")
usr=$(cd "$(dirname "$this")/../usr" && pwd)
lib=$usr/lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$lib:$lib/pulseaudio${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
QEMU_MODULE_DIR=$lib/qemu
export LD_LIBRARY_PATH QEMU_MODULE_DIR
exec "$usr/bin/$(basename "$this")" -L "$usr/share/qemu" -L "$usr/share/seabios" -L "$usr/lib/ipxe/qemu" "$@"
END
    chmod +x "$qemu/bin/$emulator"
}

works()
{
    version=$(major "$qemu/bin/$emulator" || true)
    [ "${version:-0}" -ge 10 ]
}

if debs_cached $name; then
    unpack
    # The cache may come from a machine that had more libraries installed.
    works || rm -rf "${cache:?}/$name"
fi
if ! debs_cached $name; then
    debs_get $name -backports $packages
    unpack
fi
works || unavailable "the unpacked QEMU does not start:" \
    "$("$qemu/bin/$emulator" --version 2>&1 | head -n 1)"
"$qemu/bin/$emulator" --version | head -n 1 >"$qemu/version"
