#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/qemu/fetch.sh [BUILD-FOLDER]: QEMU 10, unpacked and not installed, as BUILD-FOLDER/qemu10. Debian 12
# has it in its backports. The tuned Linux node of the comparison needs it: QEMU 7.2 hangs with two CPUs under
# -icount.
#
# Nothing happens where the system's QEMU is new enough, or where it has been unpacked before. The first time
# needs the network, later ones only the cache. Exits 3, with one line on stderr, when QEMU 10 is not
# available.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
. "$here/../apt.sh"

major()
{
    "$1" --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p'
}

installed=$(major qemu-system-x86_64 || true)
[ "${installed:-0}" -lt 10 ] || exit 0
[ "$(uname -m)" = x86_64 ] || unavailable "packages are taken for x86_64 hosts only, this is $(uname -m)"

mkdir -p "$build"
build=$(cd "$build" && pwd)
qemu=$build/qemu10
[ "$(cat "$qemu/version" 2>/dev/null)" = "" ] || exit 0

# The wrapper finds its own folder, so that the build folder may move.
unpack()
{
    debs_unpack qemu10 "$qemu"
    mkdir -p "$qemu/bin"
    cat >"$qemu/bin/qemu-system-x86_64" <<'END'
#!/bin/sh
# Made by ports/qemu/fetch.sh: run the QEMU unpacked beside this file with its own libraries, modules, ROMs.
usr=$(cd "$(dirname "$(readlink -f "$0")")/../usr" && pwd)
lib=$usr/lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$lib:$lib/pulseaudio${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
QEMU_MODULE_DIR=$lib/qemu
export LD_LIBRARY_PATH QEMU_MODULE_DIR
exec "$usr/bin/qemu-system-x86_64" -L "$usr/share/qemu" -L "$usr/share/seabios" -L "$usr/lib/ipxe/qemu" "$@"
END
    chmod +x "$qemu/bin/qemu-system-x86_64"
}

works()
{
    version=$(major "$qemu/bin/qemu-system-x86_64" || true)
    [ "${version:-0}" -ge 10 ]
}

if debs_cached qemu10; then
    unpack
    # The cache may come from a machine that had more libraries installed.
    works || rm -rf "${cache:?}/qemu10"
fi
if ! debs_cached qemu10; then
    debs_get qemu10 -backports qemu-system-x86 seabios ipxe-qemu
    unpack
fi
works || unavailable "the unpacked QEMU does not start:" \
    "$("$qemu/bin/qemu-system-x86_64" --version 2>&1 | head -n 1)"
"$qemu/bin/qemu-system-x86_64" --version | head -n 1 >"$qemu/version"
