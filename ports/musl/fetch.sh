#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/musl/fetch.sh BUILD-FOLDER [ARCH]: musl for Tacet's programs as BUILD-FOLDER/ARCH/musl/{include,lib},
# static only. ARCH is x86_64 (default) or ppc64, which is little-endian. It is what Debian has compiled: the
# package that the recipe of the architecture pins, unpacked and not installed; the first time needs the
# network, later ones only the cache. The compiler's OpenMP runtime is made fit for it (libc/openmp.c).
#
# CC names another compiler. Does nothing when the recipe, this file, libc/openmp.c and the compiler are those
# of the last time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/musl/fetch.sh BUILD-FOLDER [ARCH]}
arch=${2:-x86_64}
case $arch in
x86_64)
    port=musl
    compiler=${CC:-gcc}
    binutils=''
    options=''
    target=x86_64-linux-musl
    ;;
ppc64)
    port=musl-ppc64
    compiler=${CC:-powerpc64le-linux-gnu-gcc}
    binutils=powerpc64le-linux-gnu-
    options='-mlong-double-64'
    target=powerpc64le-linux-musl
    ;;
*) echo "ports/musl/fetch.sh: no such architecture: $arch (x86_64, ppc64)" >&2 && exit 1 ;;
esac

mkdir -p "$build/$arch"
build=$(cd "$build/$arch" && pwd)
stamp=$build/musl/stamp
openmp=$here/../../libc/openmp.c
now=$(cat "$here/../$port/recipe" "$0" "$openmp" && $compiler --version && echo "$compiler $options")
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

work=$build/musl.work
rm -rf "$work" "$build/musl"
mkdir -p "$work" "$build/musl"
deb=$("$here/../fetch.py" $port)
dpkg-deb -x "$deb" "$work"
mv "$work/usr/include/$target" "$build/musl/include"
mv "$work/usr/lib/$target" "$build/musl/lib"

# The compiler's libgomp.a, with what it misses in musl; a cross compiler may have none.
gomp=$($compiler -print-file-name=libgomp.a)
if [ -f "$gomp" ]; then
    own=$build/musl/lib/libgomp.a
    $compiler -O2 -g $options -fPIC -ffile-prefix-map="$(dirname "$openmp")"=libc -nostdinc -c "$openmp" \
        -isystem "$build/musl/include" -isystem "$($compiler -print-file-name=include)" -o "$work/openmp.o"
    "${binutils}objcopy" --redefine-sym pthread_create=openmp_pthread_create "$gomp" "$own"
    "${binutils}ar" qs "$own" "$work/openmp.o"
fi

rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
